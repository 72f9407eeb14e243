/* Reading the values of JSON leaves into their columns. */
#ifndef HEADRACE_LEAF_H
#define HEADRACE_LEAF_H

#include <stdbool.h>

#include "json.h"
#include "kernels.h"

enum { LONGEST_INTEGER = 18, LONGEST_NUMBER = 38, LONGEST_EXPONENT = 2 };

typedef const uint8_t *place;

typedef struct {
  int64_t row;
  place end;
} current_text;

static inline bool is_written(const headrace_node *node) {
  return node->kind == HEADRACE_STRING || node->kind == HEADRACE_NUMBER ||
         node->kind == HEADRACE_DECIMAL;
}

/* Reset a row: all leaves are null. */
static inline void clear_row(const headrace_node *nodes, int32_t count, int64_t row) {
  for (const headrace_node *node = nodes; node < nodes + count; node++) {
    if (node->valid) node->valid[row >> 3] &= (uint8_t)~(1 << (row & 7));
    if (!is_written(node)) continue;
    int32_t *offsets = node->values;
    offsets[row + 1] = offsets[row];
  }
}

static inline void set_valid(const current_text *text, const headrace_node *leaf) {
  leaf->valid[text->row >> 3] |= (uint8_t)(1 << (text->row & 7));
}

static inline void put_integer(
    const current_text *text, const headrace_node *leaf, int64_t integer) {
  ((int64_t *)leaf->values)[text->row] = integer;
  set_valid(text, leaf);
}

static inline void put_bytes(
    const current_text *text, const headrace_node *leaf, place from, place to) {
  int32_t *used = (int32_t *)leaf->values + text->row + 1;
  memcpy(leaf->bytes + *used, from, (size_t)(to - from));
  *used += (int32_t)(to - from);
  set_valid(text, leaf);
}

static inline place read_integer(const current_text *text, place at, const headrace_node *leaf) {
  bool negative = *at == '-';
  place digits = at + negative, end = after_whole(at, text->end);
  if (!end || end - digits > LONGEST_INTEGER || *end == '.' || is_exponent(end)) return NULL;
  int64_t integer = 0;
  for (at = digits; at < end; at++) integer = integer * 10 + (*at - '0');
  put_integer(text, leaf, negative ? -integer : integer);
  return end;
}

static inline place read_boolean(const current_text *text, place at, const headrace_node *leaf) {
  bool is_true = *at == 't';
  place end = after_word(at, text->end, is_true ? "true" : "false");
  if (end) put_integer(text, leaf, is_true);
  return end;
}

static inline place read_string(const current_text *text, place at, const headrace_node *leaf) {
  place end = *at == '"' ? after_plain_string(at + 1, text->end) : NULL;
  if (end) put_bytes(text, leaf, at + 1, end - 1);
  return end;
}

/* Read a number as text. It must be short enough that no type overflows, and not the integer -0,
   whose sign some readers preserve and others drop. */
static inline place read_number(const current_text *text, place at, const headrace_node *leaf) {
  place end = after_mantissa(at, text->end);
  if (end && is_exponent(end)) {
    if (leaf->kind == HEADRACE_DECIMAL) return NULL;
    place digits = exponent_digits(end);
    end = after_digits(digits, text->end);
    if (end && end - digits > LONGEST_EXPONENT) return NULL;
  }
  if (!end || end - at > LONGEST_NUMBER || (end - at == 2 && memcmp(at, "-0", 2) == 0)) return NULL;
  put_bytes(text, leaf, at, end);
  return end;
}

#endif
