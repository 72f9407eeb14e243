#include "page.h"

enum { DEEPEST_COLUMN = 128, LAST_CODEC = 7, BYTE_ARRAY = 6, FIXED_BYTES = 7, LONGEST_NUMBER = 16 };

/* Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData. */
enum { F_SCHEMA = 2, F_GROUPS = 4, G_COLUMNS = 1, C_METADATA = 3, C_CRYPTO = 8, C_ENCRYPTED };
enum { M_TYPE = 1, M_CODEC = 4, M_STATISTICS = 12, M_SIZES = 16 };
/* Fields of SchemaElement. */
enum { E_TYPE = 1, E_LENGTH, E_REPETITION, E_CHILDREN = 5 };
/* Fields of Statistics and SizeStatistics. */
enum { S_MAX = 1, S_MIN, S_MAX_VALUE = 5, S_MIN_VALUE, Z_BYTES = 1, Z_REPETITIONS, Z_DEFINITIONS };

typedef struct {
  int64_t type, length, definition, repetition, children;
} element;

/* A position in the schema, a flat list of elements, depth first. */
typedef struct {
  input from;
  uint64_t left;
  element above[DEEPEST_COLUMN];
  int32_t depth;
} schema_walk;

static bool read_element(schema_walk *walk, element *to) {
  int32_t id = 0, type;
  *to = (element){.type = -1};
  if (!walk->left--) return false;
  while (read_field(&walk->from, &id, &type)) {
    int64_t *number = NULL;
    if (!type) return true;
    switch (id) {
      case E_TYPE: number = &to->type; break;
      case E_LENGTH: number = &to->length; break;
      case E_REPETITION: number = &to->repetition; break;
      case E_CHILDREN: number = &to->children; break;
      default: break;
    }
    if (number ? type != T_I32 || !read_integer(&walk->from, number) : !skip_field(&walk->from, type, 0))
      return false;
  }
  return false;
}

static bool begin_walk(schema_walk *walk, input schema) {
  int32_t type;
  walk->from = schema;
  walk->depth = 0;
  if (!read_list(&walk->from, &type, &walk->left) || type != T_STRUCT) return false;
  if (!read_element(walk, walk->above)) return false;
  walk->above->definition = walk->above->repetition = 0;
  return true;
}

/* Go to the next leaf column. */
static bool next_leaf(schema_walk *walk, element *leaf) {
  while (true) {
    while (walk->depth && !walk->above[walk->depth].children) walk->depth--;
    element *above = walk->above + walk->depth;
    if (above->children <= 0 || !read_element(walk, leaf)) return false;
    if (leaf->repetition < 0 || leaf->repetition > 2) return false;
    above->children--;
    leaf->definition = above->definition + (leaf->repetition != 0);
    leaf->repetition = above->repetition + (leaf->repetition == 2);
    if (!leaf->children) return leaf->type >= 0;
    if (++walk->depth == DEEPEST_COLUMN) return false;
    walk->above[walk->depth] = *leaf;
  }
}

/* The bytes that a bound of a column must have. */
static uint64_t bound_size(const element *leaf) {
  static const uint8_t sizes[] = {1, 4, 8, 0, 4, 8, 0};
  if (leaf->type != FIXED_BYTES) return sizes[leaf->type];
  return leaf->length > 0 && leaf->length <= LONGEST_NUMBER ? leaf->length : 0;
}

static bool is_bound(int32_t id) {
  return id == S_MAX || id == S_MIN || id == S_MAX_VALUE || id == S_MIN_VALUE;
}

static bool check_statistics(input *from, const element *leaf) {
  int32_t id = 0, type;
  while (read_field(from, &id, &type)) {
    uint64_t size;
    input bound;
    if (!type) return true;
    if (is_bound(id) ? type != T_BINARY || !read_varint(from, &size) || size < bound_size(leaf) ||
                           !take(from, size, &bound)
                     : !skip_field(from, type, 0))
      return false;
  }
  return false;
}

static bool check_histogram(input *from, int32_t type, int64_t greatest_level) {
  uint64_t count;
  int32_t kind;
  if (type != T_LIST || !read_list(from, &kind, &count) || kind != T_I64 ||
      (count && count != (uint64_t)greatest_level + 1))
    return false;
  for (; count; count--)
    if (!skip_element(from, kind, 0)) return false;
  return true;
}

static bool check_sizes(input *from, const element *leaf) {
  int32_t id = 0, type;
  while (read_field(from, &id, &type)) {
    bool is_sound;
    if (!type) return true;
    switch (id) {
      case Z_BYTES: is_sound = leaf->type == BYTE_ARRAY && skip_field(from, type, 0); break;
      case Z_REPETITIONS: is_sound = check_histogram(from, type, leaf->repetition); break;
      case Z_DEFINITIONS: is_sound = check_histogram(from, type, leaf->definition); break;
      default: is_sound = skip_field(from, type, 0);
    }
    if (!is_sound) return false;
  }
  return false;
}

static bool check_metadata(input *from, const element *leaf) {
  int32_t id = 0, type;
  int64_t column_type = -1, codec = -1;
  while (read_field(from, &id, &type)) {
    bool is_sound;
    if (!type) return column_type == leaf->type && codec >= 0 && codec <= LAST_CODEC;
    if (id == M_TYPE || id == M_CODEC)
      is_sound = type == T_I32 && read_integer(from, id == M_TYPE ? &column_type : &codec);
    else if (id == M_STATISTICS)
      is_sound = type == T_STRUCT && check_statistics(from, leaf);
    else if (id == M_SIZES)
      is_sound = type == T_STRUCT && check_sizes(from, leaf);
    else
      is_sound = skip_field(from, type, 0);
    if (!is_sound) return false;
  }
  return false;
}

static bool check_chunk(input *from, const element *leaf) {
  int32_t id = 0, type;
  bool is_described = false;
  if (leaf->type > FIXED_BYTES) return false;
  while (read_field(from, &id, &type)) {
    if (!type) return is_described;
    if (id == C_CRYPTO || id == C_ENCRYPTED) return false;
    if (id == C_METADATA)
      is_described = type == T_STRUCT && check_metadata(from, leaf);
    if (id == C_METADATA ? !is_described : !skip_field(from, type, 0)) return false;
  }
  return false;
}

static bool check_group(input *from, input schema) {
  int32_t id = 0, type;
  schema_walk walk;
  element leaf;
  bool has_columns = false;
  while (read_field(from, &id, &type)) {
    if (!type) return has_columns;
    if (id == G_COLUMNS) {
      uint64_t count;
      int32_t kind;
      if (type != T_LIST || has_columns || !read_list(from, &kind, &count) || kind != T_STRUCT ||
          !begin_walk(&walk, schema))
        return false;
      for (; count; count--)
        if (!next_leaf(&walk, &leaf) || !check_chunk(from, &leaf)) return false;
      if (walk.left) return false;
      has_columns = true;
    } else if (!skip_field(from, type, 0)) {
      return false;
    }
  }
  return false;
}

int64_t headrace_is_sound(const uint8_t *footer, int64_t size) {
  input from = {footer, footer + size}, schema = {0};
  int32_t id = 0, type;
  bool has_groups = false;
  while (read_field(&from, &id, &type)) {
    if (!type) return has_groups;
    if (id == F_GROUPS) {
      uint64_t count;
      int32_t kind;
      if (type != T_LIST || !schema.at || has_groups || !read_list(&from, &kind, &count) ||
          (count && kind != T_STRUCT))
        return 0;
      for (; count; count--)
        if (!check_group(&from, schema)) return 0;
      has_groups = true;
      continue;
    }
    const input at = from;
    if (!skip_field(&from, type, 0)) return 0;
    if (id == F_SCHEMA) schema = (input){at.at, from.at};
  }
  return 0;
}
