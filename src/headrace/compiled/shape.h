/* The shape of a text: what is left of it without its strings and numbers.

   The texts of one writer differ in nothing else. So a text is first compared with the shape of
   the one before, of which it is known that it is sound and where its leaves are: that is quicker
   than to look for the end of each name. */
#ifndef HEADRACE_SHAPE_H
#define HEADRACE_SHAPE_H

#include "leaf.h"

enum { MOST_VALUES = 256 };

typedef enum { SKIP_STRING, SKIP_NUMBER, READ_LEAF } value_action;

typedef struct {
  place before; /* what stands between the value before and this one */
  int32_t before_size;
  value_action action;
  const headrace_node *leaf;
} shape_value;

typedef struct {
  int32_t count; /* above the most if there are too many */
  place rest;    /* what stands behind the last value */
  place end;
  shape_value values[MOST_VALUES];
} shape;

static inline void begin_shape(shape *made, place begin, place end) {
  made->count = 0;
  made->rest = begin;
  made->end = end;
}

static inline void add_value(
    shape *made, place from, place to, value_action action, const headrace_node *leaf) {
  if (made->count < MOST_VALUES)
    made->values[made->count] = (shape_value){
        .before = made->rest, .before_size = (int32_t)(from - made->rest),
        .action = action, .leaf = leaf};
  made->count += made->count <= MOST_VALUES;
  made->rest = to;
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

/* Whether a text has this shape; if so its leaves are read. */
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
  int64_t size = known->end - known->rest;
  return text->end - at == size && memcmp(at, known->rest, (size_t)size) == 0;
}

#endif
