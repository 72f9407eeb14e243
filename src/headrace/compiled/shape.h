/* The shape of a JSON document: its text without the strings and numbers that are values.

   The documents of one writer usually differ only in these values. So a document is first compared
   with the shape of the previous one, which is valid and whose leaves are known: that is faster than
   parsing its names. */
#ifndef HEADRACE_SHAPE_H
#define HEADRACE_SHAPE_H

#include "leaf.h"

enum { MOST_VALUES = 256 };

typedef enum { SKIP_STRING, SKIP_NUMBER, READ_LEAF } value_action;

typedef struct {
  place before; /* the text between the previous value and this one */
  int32_t before_size;
  value_action action;
  const headrace_node *leaf;
} shape_value;

typedef struct {
  int32_t count; /* more than MOST_VALUES if there are too many values */
  place tail;    /* the text after the last value */
  place end;
  shape_value values[MOST_VALUES];
} shape;

static inline void begin_shape(shape *built, place begin, place end) {
  built->count = 0;
  built->tail = begin;
  built->end = end;
}

static inline void add_value(
    shape *built, place from, place to, value_action action, const headrace_node *leaf) {
  if (built->count < MOST_VALUES)
    built->values[built->count] = (shape_value){
        .before = built->tail, .before_size = (int32_t)(from - built->tail),
        .action = action, .leaf = leaf};
  built->count += built->count <= MOST_VALUES;
  built->tail = to;
}

static inline place read_leaf(const current_text *text, place at, const headrace_node *leaf) {
  switch (leaf->kind) {
    case HEADRACE_INTEGER: return read_integer(text, at, leaf);
    case HEADRACE_BOOLEAN: return read_boolean(text, at, leaf);
    case HEADRACE_STRING: return read_string(text, at, leaf);
    case HEADRACE_NUMBER:
    case HEADRACE_DECIMAL: return read_number(text, at, leaf);
    default: return NULL;
  }
}

/* Return whether a document has this shape; if so, its leaves have been read. */
static inline bool has_shape(const current_text *text, place at, const shape *known) {
  if (known->count > MOST_VALUES) return false;
  for (const shape_value *value = known->values; value < known->values + known->count; value++) {
    if (text->end - at <= value->before_size) return false;
    if (memcmp(at, value->before, (size_t)value->before_size) != 0) return false;
    at += value->before_size;
    switch (value->action) {
      case SKIP_STRING: at = *at == '"' ? after_string(at + 1, text->end) : NULL; break;
      case SKIP_NUMBER: at = after_number(at, text->end); break;
      case READ_LEAF: at = read_leaf(text, at, value->leaf); break;
    }
    if (!at) return false;
  }
  int64_t size = known->end - known->tail;
  return text->end - at == size && memcmp(at, known->tail, (size_t)size) == 0;
}

#endif
