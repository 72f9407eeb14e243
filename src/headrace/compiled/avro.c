/* Decoding Avro records into columns, in one pass that checks all bytes and fills the columns. If the
   caller does not know the maximum size of the columns, a pass that only counts comes first. The
   schema is a list of operations: each value is followed by its parts. */
#include "kernels.h"

#include <string.h>

typedef struct {
  const uint8_t *end;
  headrace_avro_column *columns;
  int32_t fills;
} reader;

typedef const headrace_avro_op *op;

#define HIGH_BITS 0x8080808080808080u

/* Every read function takes the place of a value and returns the place after it, or NULL if the
   bytes are damaged. The place stays in a register that way: a byte stored to a column could
   otherwise change it, as far as the compiler knows. */

static const uint8_t *read_long_slowly(const uint8_t *at, const uint8_t *end, int64_t *value) {
  uint64_t bits = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at == end) return NULL;
    uint8_t byte = *at++;
    if (shift == 63 && byte > 1) return NULL;
    bits |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
      return at;
    }
  }
  return NULL;
}

static inline const uint8_t *read_long(const uint8_t *at, const uint8_t *end, int64_t *value) {
  if (end - at < 2 || (at[0] & at[1] & 0x80)) return read_long_slowly(at, end, value);
  int64_t bits = at[0] & 0x7f;
  if (at[0] < 0x80) {
    at++;
  } else {
    bits |= (int64_t)at[1] << 7;
    at += 2;
  }
  *value = (bits >> 1) ^ -(bits & 1);
  return at;
}

static int is_text(const uint8_t *at, int64_t size) {
  const uint8_t *end = at + size;
  while (at < end) {
    uint64_t word;
    while (end - at >= 8) {
      memcpy(&word, at, 8);
      if (word & HIGH_BITS) break;
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

static inline uint64_t copy_word(uint8_t *to, const uint8_t *from) {
  uint64_t word;
  memcpy(&word, from, 8);
  memcpy(to, &word, 8);
  return word;
}

static inline uint64_t copy_words(uint8_t *to, const uint8_t *from) {
  return copy_word(to, from) | copy_word(to + 8, from + 8);
}

/* Copies a text and returns whether it is ASCII. The last words overlap those before them. A short
   text is copied as a word, with the bytes after it: `to` has room for them. */
static inline int copy_ascii(uint8_t *to, const uint8_t *from, int64_t size, const uint8_t *end) {
  uint64_t bits = 0;
  if (size > 16) {
    int64_t at = 0;
    for (; at < size - 16; at += 16) bits |= copy_words(to + at, from + at);
    bits |= copy_words(to + size - 16, from + size - 16);
  } else if (size >= 8) {
    bits = copy_word(to, from) | copy_word(to + size - 8, from + size - 8);
  } else if (end - from >= 8) {
    bits = copy_word(to, from) & (((uint64_t)1 << 8 * size) - 1);
  } else {
    for (int64_t at = 0; at < size; at++) bits |= to[at] = from[at];
  }
  return !(bits & HIGH_BITS);
}

/* A column without nulls needs no `valid`: it is written from the first null on. */
static inline void set_valid(headrace_avro_column *column) {
  if (column->nulls) column->valid[column->count] = 1;
}

static inline void put_number(reader *in, op self, int64_t number) {
  if (self->column < 0) return;
  headrace_avro_column *column = in->columns + self->column;
  if (in->fills) {
    set_valid(column);
    if (column->numbers) column->numbers[column->count] = number; /* a record has no numbers */
  }
  column->count++;
}

static inline int put_text(reader *in, op self, const uint8_t *text, int64_t size) {
  if (self->column < 0) return 1;
  headrace_avro_column *column = in->columns + self->column;
  int64_t start = column->bytes, stop = start + size;
  if (stop > INT32_MAX) return 0;
  if (in->fills) {
    if (!copy_ascii(column->data + start, text, size, in->end) && !is_text(text, size)) return 0;
    set_valid(column);
    column->offsets[column->count + 1] = (int32_t)stop;
  } else if (!is_text(text, size)) {
    return 0;
  }
  column->bytes = stop;
  column->count++;
  return 1;
}

/* Put a list or map; `bytes` of its column counts the items. */
static int put_items(reader *in, op self, int64_t items) {
  if (self->column < 0) return 1;
  headrace_avro_column *column = in->columns + self->column;
  if (column->bytes + items > INT32_MAX) return 0;
  column->bytes += items;
  if (in->fills) {
    set_valid(column);
    column->offsets[column->count + 1] = (int32_t)column->bytes;
  }
  column->count++;
  return 1;
}

static void put_null(reader *in, op self) {
  if (self->kind == HEADRACE_AVRO_NULLABLE) {
    put_null(in, self + 1);
    return;
  }
  if (self->column >= 0) {
    headrace_avro_column *column = in->columns + self->column;
    if (in->fills) {
      if (!column->nulls++) memset(column->valid, 1, (size_t)column->count);
      column->valid[column->count] = 0;
      if (column->numbers) column->numbers[column->count] = 0;
      if (column->offsets) column->offsets[column->count + 1] = (int32_t)column->bytes;
    }
    column->count++;
  }
  if (self->kind == HEADRACE_AVRO_RECORD)
    for (op part = self + 1; part < self + self->size; part += part->size) put_null(in, part);
}

static const uint8_t *read_parts(reader *in, op part, op last, const uint8_t *at);

static const uint8_t *read_items(reader *in, op self, const uint8_t *at) {
  int64_t items = 0, count, size;
  const uint8_t *end = in->end;
  for (;;) {
    if (!(at = read_long(at, end, &count))) return NULL;
    if (count == 0) break;
    if (count < 0) {
      if (count == INT64_MIN || !(at = read_long(at, end, &size)) || size < 0 || size > end - at)
        return NULL;
      count = -count;
    }
    if (count > end - at) return NULL; /* every item has at least a byte */
    for (int64_t i = 0; i < count; i++)
      if (!(at = read_parts(in, self + 1, self + self->size, at))) return NULL;
    items += count;
    if (items > INT32_MAX / 2) return NULL;
  }
  return put_items(in, self, items) ? at : NULL;
}

/* Reads the values of the operations from `part` to `last`, one after the other. */
static const uint8_t *read_parts(reader *in, op part, op last, const uint8_t *at) {
  const uint8_t *end = in->end;
  int64_t number;
  for (; part < last; part += part->size) {
    op self = part;
  again:
    switch (self->kind) {
    case HEADRACE_AVRO_NULL:
      break;
    case HEADRACE_AVRO_BOOLEAN:
      if (at == end || *at > 1) return NULL;
      put_number(in, self, *at++);
      break;
    case HEADRACE_AVRO_INT:
      if (!(at = read_long(at, end, &number)) || number < INT32_MIN || number > INT32_MAX)
        return NULL;
      put_number(in, self, number);
      break;
    case HEADRACE_AVRO_LONG:
      if (!(at = read_long(at, end, &number))) return NULL;
      put_number(in, self, number);
      break;
    case HEADRACE_AVRO_FIXED:
      if (end - at < self->argument) return NULL;
      at += self->argument;
      break;
    case HEADRACE_AVRO_TEXT:
      if (!(at = read_long(at, end, &number)) || number < 0 || number > end - at) return NULL;
      if (!put_text(in, self, at, number)) return NULL;
      at += number;
      break;
    case HEADRACE_AVRO_NULLABLE:
      if (!(at = read_long(at, end, &number)) || number < 0 || number > 1) return NULL;
      if (number != self->argument) {
        self++;
        goto again;
      }
      put_null(in, self + 1);
      break;
    case HEADRACE_AVRO_RECORD:
      if (!(at = read_parts(in, self + 1, self + self->size, at))) return NULL;
      put_number(in, self, 0);
      break;
    case HEADRACE_AVRO_ITEMS:
      if (!(at = read_items(in, self, at))) return NULL;
      break;
    case HEADRACE_AVRO_UNION:
      if (!(at = read_long(at, end, &number)) || number < 0 || number >= self->argument)
        return NULL;
      self++;
      while (number--) self += self->size;
      goto again;
    default:
      return NULL;
    }
  }
  return at;
}

int64_t headrace_avro(const headrace_avro_op *record, const uint8_t *data, int64_t size,
                      int64_t records, headrace_avro_column *columns, int32_t fills) {
  reader in = {data + size, columns, fills};
  const uint8_t *at = data;
  for (int64_t i = 0; i < records; i++)
    if (!(at = read_parts(&in, record, record + record->size, at))) return -1;
  return at == in.end ? 0 : -1;
}
