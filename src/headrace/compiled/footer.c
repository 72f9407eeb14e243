#include "columns.h"

enum { MAGIC_SIZE = 4, TAIL_SIZE = 8 };

/* Fields of FileMetaData. */
enum { F_SCHEMA = 2, F_ROWS, F_GROUPS, F_NOTES, F_WRITER, F_ENCRYPTION = 8, F_SIGNING_KEY };
/* Fields of RowGroup. */
enum { G_COLUMNS = 1, G_ROWS = 3 };
/* Fields of ColumnChunk. */
enum { C_PATH = 1, C_METADATA = 3, C_CRYPTO = 8, C_ENCRYPTED };
/* Fields of ColumnMetaData. */
enum { M_TYPE = 1, M_CODEC = 4, M_VALUES, M_SIZE = 7, M_DATA_AT = 9, M_DICTIONARY_AT = 11 };

static bool read_long(input *from, int64_t *number) {
  uint64_t coded = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (from->at == from->end) return false;
    const uint8_t byte = *from->at++;
    coded |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) {
      *number = (int64_t)(coded >> 1) ^ -(int64_t)(coded & 1);
      return true;
    }
  }
  return false;
}

static bool is_integer(int32_t type) { return type == T_I32 || type == T_I64; }

static bool read_chunk_metadata(input *from, headrace_place *place) {
  int32_t id = 0, type;
  while (read_field(from, &id, &type)) {
    if (!type) return true;
    int64_t *number = NULL;
    switch (id) {
      case M_TYPE: number = &place->type; break;
      case M_CODEC: number = &place->codec; break;
      case M_VALUES: number = &place->values; break;
      case M_SIZE: number = &place->size_bytes; break;
      case M_DATA_AT: number = &place->data_at; break;
      case M_DICTIONARY_AT: number = &place->dictionary_at; break;
      default: break;
    }
    if (number ? !is_integer(type) || !read_long(from, number) : !skip_field(from, type, 0))
      return false;
  }
  return false;
}

static bool read_chunk(input *from, headrace_place *place) {
  int32_t id = 0, type;
  *place = (headrace_place){.type = -1, .codec = -1, .values = -1, .size_bytes = -1, .data_at = -1};
  while (read_field(from, &id, &type)) {
    if (!type)
      return place->type >= 0 && place->codec >= 0 && place->values >= 0 && place->size_bytes >= 0 &&
             place->data_at >= 0 && place->dictionary_at >= 0;
    if (id == C_PATH || id == C_CRYPTO || id == C_ENCRYPTED) return false;
    if (id == C_METADATA && type == T_STRUCT ? !read_chunk_metadata(from, place)
                                             : !skip_field(from, type, 0))
      return false;
  }
  return false;
}

static bool read_group(input *from, headrace_footer *footer) {
  int32_t id = 0, type;
  int64_t rows = -1;
  footer->columns = -1;
  while (read_field(from, &id, &type)) {
    if (!type) return rows == footer->rows && footer->columns >= 0;
    if (id == G_COLUMNS) {
      uint64_t count;
      int32_t element;
      if (type != T_LIST || footer->columns >= 0 || !read_list(from, &element, &count) ||
          element != T_STRUCT || count > (uint64_t)footer->most_places)
        return false;
      for (uint64_t n = 0; n < count; n++)
        if (!read_chunk(from, footer->places + n)) return false;
      footer->columns = (int64_t)count;
    } else if (id == G_ROWS ? type != T_I64 || !read_long(from, &rows) : !skip_field(from, type, 0)) {
      return false;
    }
  }
  return false;
}

static bool read_groups(input *from, headrace_footer *footer) {
  uint64_t count;
  int32_t element;
  return read_list(from, &element, &count) && element == T_STRUCT && count == 1 &&
         footer->columns < 0 && read_group(from, footer);
}

int64_t headrace_read_footer(const uint8_t *file, int64_t size, headrace_footer *footer) {
  static const uint8_t magic[MAGIC_SIZE] = {'P', 'A', 'R', '1'};
  uint32_t length;
  footer->schema_size = footer->notes_size = footer->writer_size = 0;
  footer->schema_at = footer->notes_at = footer->writer_at = 0;
  footer->rows = footer->columns = -1;
  if (size < MAGIC_SIZE + TAIL_SIZE || memcmp(file, magic, MAGIC_SIZE) ||
      memcmp(file + size - MAGIC_SIZE, magic, MAGIC_SIZE))
    return 0;
  memcpy(&length, file + size - TAIL_SIZE, sizeof length); /* little-endian, like the machine */
  if (length > size - MAGIC_SIZE - TAIL_SIZE) return 0;
  input from = {file + size - TAIL_SIZE - length, file + size - TAIL_SIZE};
  int32_t id = 0, type;
  while (read_field(&from, &id, &type)) {
    if (!type) return footer->columns >= 0 && footer->schema_size && from.at == from.end;
    const int64_t at = from.at - file;
    bool done;
    if (id == F_ENCRYPTION || id == F_SIGNING_KEY)
      done = false;
    else if (id == F_ROWS)
      done = type == T_I64 && read_long(&from, &footer->rows);
    else if (id == F_GROUPS)
      done = type == T_LIST && read_groups(&from, footer);
    else
      done = skip_field(&from, type, 0);
    if (!done) return 0;
    const int64_t field_size = from.at - file - at;
    if (id == F_SCHEMA) footer->schema_at = at, footer->schema_size = field_size;
    if (id == F_NOTES) footer->notes_at = at, footer->notes_size = field_size;
    if (id == F_WRITER) footer->writer_at = at, footer->writer_size = field_size;
  }
  return 0;
}

/* Point a column at its chunk in the file. */
static bool begin_chunk(const uint8_t *file, int64_t size, const headrace_footer *footer, int32_t leaf,
                        headrace_column *column) {
  if (leaf < 0 || leaf >= footer->columns) return false;
  const headrace_place *place = footer->places + leaf;
  int64_t at = place->data_at;
  if (place->dictionary_at > 0 && place->dictionary_at < at) at = place->dictionary_at;
  if (place->values != footer->rows || at < MAGIC_SIZE || at > size || place->size_bytes > size - at ||
      (place->codec != HEADRACE_NO_CODEC && place->codec != HEADRACE_SNAPPY))
    return false;
  column->input = file + at;
  column->input_size = place->size_bytes;
  column->input_at = 0;
  column->codec = (int32_t)place->codec;
  column->is_decompressed = 0;
  memset(column->state, 0, sizeof column->state);
  return true;
}

int64_t headrace_append_file(
    const uint8_t *file, int64_t size, const headrace_footer *footer, headrace_appending *to) {
  for (; to->column < to->count; to->column++) {
    headrace_column *column = to->columns + to->column;
    headrace_batch *batch = to->batches + to->column;
    if (!to->is_begun) {
      if (!begin_chunk(file, size, footer, to->leaf_columns[to->column], column)) return HEADRACE_UNUSUAL;
      batch->rows += footer->rows;
      to->is_begun = 1;
    }
    const int64_t status = headrace_take_column(column, batch);
    if (status != HEADRACE_DONE) return status == HEADRACE_MORE_INPUT ? HEADRACE_UNUSUAL : status;
    to->is_begun = 0;
  }
  return HEADRACE_DONE;
}
