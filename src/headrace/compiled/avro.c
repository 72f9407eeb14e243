/* Decoding Avro records into columns, in one pass that checks all bytes and fills the columns. If the
   caller does not know the maximum size of the columns, a pass that only counts comes first. The
   schema is a list of operations: each value is followed by its parts. */
#include "kernels.h"

#include <string.h>

typedef struct {
  const uint8_t *at, *end;
  headrace_avro_column *columns;
  int32_t fills;
} reader;

typedef const headrace_avro_op *op;

static int read_long(reader *in, int64_t *value) {
  uint64_t bits = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in->at == in->end) return 0;
    uint8_t byte = *in->at++;
    if (shift == 63 && byte > 1) return 0;
    bits |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
      return 1;
    }
  }
  return 0;
}

static int is_text(const uint8_t *at, int64_t size) {
  const uint8_t *end = at + size;
  while (at < end) {
    uint64_t word;
    while (end - at >= 8) {
      memcpy(&word, at, 8);
      if (word & 0x8080808080808080u) break;
      at += 8;
    }
    if (at == end) return 1;
    uint8_t first = *at;
    if (first < 0x80) {
      at++;
      continue;
    }
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || end - at <= more) return 0;
    uint8_t second = at[1];
    if ((second & 0xc0) != 0x80) return 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
    for (int i = 2; i <= more; i++)
      if ((at[i] & 0xc0) != 0x80) return 0;
    at += more + 1;
  }
  return 1;
}

static void put_number(reader *in, op self, int64_t number) {
  if (self->column < 0) return;
  headrace_avro_column *column = in->columns + self->column;
  if (in->fills) {
    column->valid[column->count] = 1;
    if (column->numbers) column->numbers[column->count] = number; /* a record has no numbers */
  }
  column->count++;
}

static int put_text(reader *in, op self, const uint8_t *text, int64_t size) {
  if (self->column < 0) return 1;
  headrace_avro_column *column = in->columns + self->column;
  if (!is_text(text, size) || column->bytes + size > INT32_MAX) return 0;
  if (in->fills) {
    column->valid[column->count] = 1;
    if (size <= 16 && in->end - text >= 16) /* most strings are short; the extra bytes are overwritten later */
      memcpy(column->data + column->bytes, text, 16);
    else
      memcpy(column->data + column->bytes, text, (size_t)size);
    column->offsets[column->count + 1] = (int32_t)(column->bytes + size);
  }
  column->bytes += size;
  column->count++;
  return 1;
}

/* Put a list or map; `bytes` of its column counts the items. */
static void put_items(reader *in, op self, int64_t items) {
  headrace_avro_column *column = in->columns + self->column;
  if (in->fills) {
    column->valid[column->count] = 1;
    column->offsets[column->count + 1] = (int32_t)(column->bytes + items);
  }
  column->bytes += items;
  column->count++;
}

static void put_null(reader *in, op self) {
  if (self->kind == HEADRACE_AVRO_NULLABLE) {
    put_null(in, self + 1);
    return;
  }
  if (self->column >= 0) {
    headrace_avro_column *column = in->columns + self->column;
    if (in->fills) {
      column->valid[column->count] = 0;
      if (column->numbers) column->numbers[column->count] = 0;
      if (column->offsets) column->offsets[column->count + 1] = (int32_t)column->bytes;
    }
    column->count++;
  }
  if (self->kind == HEADRACE_AVRO_RECORD)
    for (op part = self + 1; part < self + self->size; part += part->size) put_null(in, part);
}

static int read_value(reader *in, op self);

static int read_items(reader *in, op self) {
  int64_t items = 0, count, size;
  for (;;) {
    if (!read_long(in, &count)) return 0;
    if (count == 0) break;
    if (count < 0) {
      if (count == INT64_MIN || !read_long(in, &size) || size < 0 || size > in->end - in->at) return 0;
      count = -count;
    }
    if (count > in->end - in->at) return 0; /* every item has at least a byte */
    for (int64_t i = 0; i < count; i++)
      for (op part = self + 1; part < self + self->size; part += part->size)
        if (!read_value(in, part)) return 0;
    items += count;
    if (items > INT32_MAX / 2) return 0;
  }
  if (self->column >= 0) {
    if (in->columns[self->column].bytes + items > INT32_MAX) return 0;
    put_items(in, self, items);
  }
  return 1;
}

static int read_value(reader *in, op self) {
  int64_t number;
  switch (self->kind) {
  case HEADRACE_AVRO_NULL:
    return 1;
  case HEADRACE_AVRO_BOOLEAN:
    if (in->at == in->end || *in->at > 1) return 0;
    put_number(in, self, *in->at++);
    return 1;
  case HEADRACE_AVRO_INT:
    if (!read_long(in, &number) || number < INT32_MIN || number > INT32_MAX) return 0;
    put_number(in, self, number);
    return 1;
  case HEADRACE_AVRO_LONG:
    if (!read_long(in, &number)) return 0;
    put_number(in, self, number);
    return 1;
  case HEADRACE_AVRO_FIXED:
    if (in->end - in->at < self->argument) return 0;
    in->at += self->argument;
    return 1;
  case HEADRACE_AVRO_TEXT:
    if (!read_long(in, &number) || number < 0 || number > in->end - in->at) return 0;
    if (!put_text(in, self, in->at, number)) return 0;
    in->at += number;
    return 1;
  case HEADRACE_AVRO_NULLABLE:
    if (!read_long(in, &number) || number < 0 || number > 1) return 0;
    if (number != self->argument) return read_value(in, self + 1);
    put_null(in, self + 1);
    return 1;
  case HEADRACE_AVRO_RECORD:
    for (op part = self + 1; part < self + self->size; part += part->size)
      if (!read_value(in, part)) return 0;
    put_number(in, self, 0);
    return 1;
  case HEADRACE_AVRO_ITEMS:
    return read_items(in, self);
  case HEADRACE_AVRO_UNION: {
    if (!read_long(in, &number) || number < 0 || number >= self->argument) return 0;
    op part = self + 1;
    while (number--) part += part->size;
    return read_value(in, part);
  }
  default:
    return 0;
  }
}

int64_t headrace_avro(const headrace_avro_op *record, const uint8_t *data, int64_t size,
                      int64_t records, headrace_avro_column *columns, int32_t fills) {
  reader in = {data, data + size, columns, fills};
  for (int64_t i = 0; i < records; i++)
    if (!read_value(&in, record)) return -1;
  return in.at == in.end ? 0 : -1;
}
