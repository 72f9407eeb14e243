/* The tokens of strict JSON, in a text that is known to end with a closing brace.

   That brace is neither a space nor a digit nor a part of a number: loops over those need no other
   bound. Strings may hold it, and look at the end. Each function takes the place where a token
   begins and gives the place behind it, or NULL where there is no such token. */
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

/* Eight bytes, the first one lowest; zeros stand for those behind the end. */
static inline uint64_t eight_bytes(const uint8_t *at, const uint8_t *end) {
  uint64_t word = 0;
  if (end - at >= 8) {
    memcpy(&word, at, 8); /* of a size that is known, it is no call */
  } else {
    memcpy(&word, at, (size_t)(end - at));
  }
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

static inline int first_marked(uint64_t marks) { return __builtin_ctzll(marks) >> 3; }

/* Marks quotes, backslashes and control characters. A byte behind the first of them may be marked
   by mistake, through the borrow. */
static inline uint64_t special_bytes(uint64_t word) {
  uint64_t low = (word ^ EACH_BYTE(2)) - EACH_BYTE(33); /* a quote and a space change places */
  uint64_t backslash = (word ^ EACH_BYTE('\\')) - EACH_BYTE(1);
  return (low | backslash) & ~word & EACH_BYTE(0x80);
}

/* Marks each byte that is no digit; one behind the first such byte may be wrong. */
static inline uint64_t other_than_digits(uint64_t word) {
  uint64_t high = EACH_BYTE(0xF0);
  return ((word & high) ^ EACH_BYTE('0')) | (((word + EACH_BYTE(6)) & high) ^ EACH_BYTE('0'));
}

/* The first byte of a string that does not stand for itself: its quote, or a backslash, or a
   control character, which is not allowed. NULL if the text ends before. */
static inline const uint8_t *first_special(const uint8_t *at, const uint8_t *end) {
  uint64_t special;
  while (!(special = special_bytes(eight_bytes(at, end)))) at += 8;
  at += first_marked(special);
  return at < end ? at : NULL;
}

/* A string without escapes, such as nearly all are; from behind its first quote. */
static inline const uint8_t *after_plain_string(const uint8_t *at, const uint8_t *end) {
  at = first_special(at, end);
  return at && *at == '"' ? at + 1 : NULL;
}

/* A string; from behind its first quote. Code points as numbers are left to others. */
static inline const uint8_t *after_string(const uint8_t *at, const uint8_t *end) {
  while ((at = first_special(at, end)) && *at == '\\') {
    at++; /* not the end, which a brace takes */
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

/* A number as far as its point. */
static inline const uint8_t *after_whole(const uint8_t *at, const uint8_t *end) {
  at += *at == '-';
  if (*at != '0') return after_digits(at, end);
  return is_digit(at[1]) ? NULL : at + 1;
}

/* A number as far as its exponent. */
static inline const uint8_t *after_mantissa(const uint8_t *at, const uint8_t *end) {
  at = after_whole(at, end);
  return at && *at == '.' ? after_digits(at + 1, end) : at;
}

static inline int is_exponent(const uint8_t *at) { return (*at | 0x20) == 'e'; }

/* The digits of an exponent. */
static inline const uint8_t *exponent_digits(const uint8_t *at) {
  return at + 1 + (at[1] == '+' || at[1] == '-');
}

static inline const uint8_t *after_number(const uint8_t *at, const uint8_t *end) {
  at = after_mantissa(at, end);
  return at && is_exponent(at) ? after_digits(exponent_digits(at), end) : at;
}

#endif
