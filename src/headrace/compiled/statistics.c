#include "kernels.h"
#include "shape.h"

enum { DEEPEST = 32 };

typedef struct {
  current_text text;
  const headrace_node *nodes;
  uint64_t seen; /* a bit per node; a document with a duplicate name is declined */
  shape *shape;
} parser;

static place parse_object(parser *of, place at, const headrace_node *level, int depth);

static place skip_array(parser *of, place at, int depth);

static place skip_value(parser *of, place at, int depth) {
  place from = at, end = of->text.end;
  switch (*at) {
    case '{': return parse_object(of, at + 1, NULL, depth + 1);
    case '[': return skip_array(of, at + 1, depth + 1);
    case 't': return after_word(at, end, "true");
    case 'f': return after_word(at, end, "false");
    case 'n': return after_word(at, end, "null");
    case '"':
      at = after_string(at + 1, end);
      if (at) add_value(of->shape, from, at, SKIP_STRING, NULL);
      return at;
    default:
      at = after_number(at, end);
      if (at) add_value(of->shape, from, at, SKIP_NUMBER, NULL);
      return at;
  }
}

/* Skip an array, starting after its opening bracket. */
static place skip_array(parser *of, place at, int depth) {
  if (depth > DEEPEST) return NULL;
  at = after_spaces(at);
  if (*at == ']') return at + 1;
  for (;;) {
    at = skip_value(of, at, depth);
    if (!at || at == of->text.end) return NULL;
    at = after_spaces(at);
    if (*at == ']') return at + 1;
    if (*at != ',') return NULL;
    at = after_spaces(at + 1);
  }
}

static place parse_node(parser *of, place at, const headrace_node *node, int depth) {
  uint64_t bit = 1ull << (node - of->nodes);
  if (of->seen & bit) return NULL;
  of->seen |= bit;
  if (*at == 'n') return after_word(at, of->text.end, "null");
  if (node->kind == HEADRACE_LEVEL)
    return *at == '{' ? parse_object(of, at + 1, node, depth + 1) : NULL;
  place from = at;
  at = read_leaf(&of->text, at, node);
  if (at) add_value(of->shape, from, at, READ_LEAF, node);
  return at;
}

static const headrace_node *find_child(
    const headrace_node *nodes, const headrace_node *level, place name, int64_t size) {
  const headrace_node *child = nodes + level->first_child, *end = child + level->children;
  for (; child < end; child++)
    if (child->name_size == size && memcmp(child->name, name, (size_t)size) == 0) return child;
  return NULL;
}

/* Parse an object, starting after its opening brace; without a level, nothing in it is requested. */
static place parse_object(parser *of, place at, const headrace_node *level, int depth) {
  place end = of->text.end;
  if (depth > DEEPEST) return NULL;
  at = after_spaces(at);
  if (*at == '}') return at + 1;
  for (;;) {
    if (*at != '"') return NULL;
    place name = at + 1;
    /* A name with escapes might be a requested one, so it is declined. */
    at = level ? after_plain_string(name, end) : after_string(name, end);
    if (!at) return NULL;
    const headrace_node *node = level ? find_child(of->nodes, level, name, at - 1 - name) : NULL;
    at = after_spaces(at);
    if (*at != ':') return NULL;
    at = after_spaces(at + 1);
    at = node ? parse_node(of, at, node, depth) : skip_value(of, at, depth);
    if (!at || at == end) return NULL;
    at = after_spaces(at);
    if (*at == '}') return at + 1;
    if (*at != ',') return NULL;
    at = after_spaces(at + 1);
  }
}

int64_t headrace_leaves(
    const uint8_t *validity, const int32_t *offsets, const uint8_t *data, int64_t data_size,
    int64_t first, int64_t rows, const headrace_node *nodes, int32_t node_count) {
  shape last;
  begin_shape(&last, NULL, NULL);
  for (int64_t row = 0; row < rows; row++) {
    clear_row(nodes, node_count, row);
    int64_t index = first + row;
    /* Ascending offsets also bound the size of what is written for a leaf. */
    int32_t from = offsets[index], to = offsets[index + 1];
    if (from < 0 || to < from || to > data_size) return 0;
    if (validity && !(validity[index >> 3] >> (index & 7) & 1)) continue;
    /* Text that is not enclosed in braces counts as missing statistics. */
    if (to - from < 2 || data[from] != '{' || data[to - 1] != '}') continue;
    place begin = data + from, end = data + to;
    parser of = {.text = {.row = row, .end = end}, .nodes = nodes, .shape = &last};
    if (has_shape(&of.text, begin, &last)) continue;
    clear_row(nodes, node_count, row);
    begin_shape(&last, begin, end);
    if (parse_object(&of, begin + 1, nodes, 0) != end) return 0;
  }
  return 1;
}
