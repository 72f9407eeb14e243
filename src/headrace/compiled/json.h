/* Scanning the tokens of strict JSON, in text that is known to end with a closing brace.

   The brace is not a space, a digit or any other part of a number, so loops over these need no
   other bound. Strings may contain a brace, so they check the end. Each function takes the position
   where a token begins and returns the position after it, or NULL if there is no such token. */
#ifndef HEADRACE_JSON_H
#define HEADRACE_JSON_H

#include <stdint.h>
#include <string.h>

#define EACH_BYTE(value) (0x0101010101010101ull * (value))

static inline int is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }

static inline const uint8_t *after_spaces(const uint8_t *at) {
  while (*at <= ' ' && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
  return at;
}

static inline const uint8_t *after_word(const uint8_t *at, const uint8_t *end, const char *word) {
  size_t size = strlen(word);
  return (size_t)(end - at) > size && memcmp(at, word, size) == 0 ? at + size : NULL;
}

/* Return eight bytes as a little-endian number; bytes beyond the end are zero. */
static inline uint64_t eight_bytes(const uint8_t *at, const uint8_t *end) {
  uint64_t word = 0;
  if (end - at >= 8) {
    memcpy(&word, at, 8); /* with a constant size, this is not a function call */
  } else {
    memcpy(&word, at, (size_t)(end - at));
  }
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

static inline int first_marked(uint64_t marks) { return __builtin_ctzll(marks) >> 3; }

/* Mark quotes, backslashes and control characters. The borrow may also mark bytes after the first
   of them, so only the first mark is reliable. */
static inline uint64_t special_bytes(uint64_t word) {
  uint64_t low = (word ^ EACH_BYTE(2)) - EACH_BYTE(33); /* swaps the quote and the space */
  uint64_t backslash = (word ^ EACH_BYTE('\\')) - EACH_BYTE(1);
  return (low | backslash) & ~word & EACH_BYTE(0x80);
}

/* Mark each byte that is not a digit; only the first mark is reliable. */
static inline uint64_t other_than_digits(uint64_t word) {
  uint64_t high = EACH_BYTE(0xF0);
  return ((word & high) ^ EACH_BYTE('0')) | (((word + EACH_BYTE(6)) & high) ^ EACH_BYTE('0'));
}

/* Return the first special byte of a string: its closing quote, a backslash, or a control
   character, which is invalid. NULL if the text ends first. */
static inline const uint8_t *first_special(const uint8_t *at, const uint8_t *end) {
  uint64_t special;
  while (!(special = special_bytes(eight_bytes(at, end)))) at += 8;
  at += first_marked(special);
  return at < end ? at : NULL;
}

/* Scan a string without escapes (nearly all are), starting after its opening quote. */
static inline const uint8_t *after_plain_string(const uint8_t *at, const uint8_t *end) {
  at = first_special(at, end);
  return at && *at == '"' ? at + 1 : NULL;
}

/* Scan a string, starting after its opening quote. `\u` escapes are declined. */
static inline const uint8_t *after_string(const uint8_t *at, const uint8_t *end) {
  while ((at = first_special(at, end)) && *at == '\\') {
    at++; /* not beyond the end, where the closing brace is */
    if (!*at || !strchr("\"\\/bfnrt", *at)) return NULL;
    at++;
  }
  return at && *at == '"' ? at + 1 : NULL;
}

static inline const uint8_t *after_digits(const uint8_t *at, const uint8_t *end) {
  const uint8_t *from = at;
  uint64_t others;
  while (!(others = other_than_digits(eight_bytes(at, end)))) at += 8;
  at += first_marked(others);
  return at > from ? at : NULL;
}

/* Scan a number up to its decimal point. */
static inline const uint8_t *after_whole(const uint8_t *at, const uint8_t *end) {
  at += *at == '-';
  if (*at != '0') return after_digits(at, end);
  return is_digit(at[1]) ? NULL : at + 1;
}

/* Scan a number up to its exponent. */
static inline const uint8_t *after_mantissa(const uint8_t *at, const uint8_t *end) {
  at = after_whole(at, end);
  return at && *at == '.' ? after_digits(at + 1, end) : at;
}

static inline int is_exponent(const uint8_t *at) { return (*at | 0x20) == 'e'; }

/* Return the position of the digits of an exponent. */
static inline const uint8_t *exponent_digits(const uint8_t *at) {
  return at + 1 + (at[1] == '+' || at[1] == '-');
}

static inline const uint8_t *after_number(const uint8_t *at, const uint8_t *end) {
  at = after_mantissa(at, end);
  return at && is_exponent(at) ? after_digits(exponent_digits(at), end) : at;
}

#endif
