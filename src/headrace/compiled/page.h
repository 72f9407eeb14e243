/* The header of a page of Parquet: a struct in Thrift's compact protocol. */
#ifndef HEADRACE_PAGE_H
#define HEADRACE_PAGE_H

#include <stddef.h>

#include "kernels.h"
#include "varint.h"

enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, RLE_DICTIONARY = 8 };
enum { T_TRUE = 1, T_FALSE, T_BYTE, T_I16, T_I32, T_I64, T_DOUBLE, T_BINARY, T_STRUCT = 12 };
enum { FIELDS = 5, DATA_PAGE_HEADER = 5, DICTIONARY_PAGE_HEADER = 7, DEEPEST_STRUCT = 4 };

#define ABSENT INT64_MIN /* no field of a header has such a value */

typedef struct {
  int64_t kind, size, compressed_size, checksum, count, encoding, level_encoding;
} page_header;

static inline bool is_coded(const page_header *header) {
  return header->encoding == RLE_DICTIONARY || header->encoding == PLAIN_DICTIONARY;
}

static inline bool read_field(input *from, int32_t *id, int32_t *type) {
  if (from->at == from->end) return false;
  const uint8_t head = *from->at++;
  *type = head & 15;
  *id += head >> 4;
  return !*type || head >> 4; /* ids that are far apart are not expected */
}

static inline bool read_integer(input *from, int64_t *number) {
  uint64_t coded;
  if (!read_varint(from, &coded)) return false;
  *number = (int32_t)(coded >> 1) ^ -(int32_t)(coded & 1);
  return true;
}

static inline bool skip_field(input *from, int32_t type, int depth) {
  uint64_t size;
  input skipped;
  int32_t id = 0;
  switch (type) {
    case T_TRUE:
    case T_FALSE: return true;
    case T_BINARY: return read_varint(from, &size) && take(from, size, &skipped);
    case T_I16:
    case T_I32: return read_varint(from, &size);
    case T_I64: /* of up to ten bytes */
      for (int count = 0; count < 10 && from->at < from->end; count++)
        if (*from->at++ < 0x80) return true;
      return false;
    case T_STRUCT:
      if (depth == DEEPEST_STRUCT) return false;
      while (read_field(from, &id, &type)) {
        if (!type) return true;
        if (!skip_field(from, type, depth + 1)) return false;
      }
      return false;
    default: return false;
  }
}

/* Reads a struct: the first fields, which are integers, into `fields` by their ids; `inner` takes
   those of the header of its own kind. All else is skipped. */
static inline bool read_struct(input *from, int64_t *fields, int64_t *inner) {
  int32_t id = 0, type;
  while (read_field(from, &id, &type)) {
    bool done;
    if (!type) return true;
    if (id < FIELDS && type == T_I32)
      done = read_integer(from, fields + id);
    else if ((id == DATA_PAGE_HEADER || id == DICTIONARY_PAGE_HEADER) && type == T_STRUCT && inner)
      done = read_struct(from, inner, NULL);
    else
      done = skip_field(from, type, 0);
    if (!done) return false;
  }
  return false;
}

static inline bool read_header(input *from, page_header *header) {
  int64_t outer[FIELDS], inner[FIELDS];
  for (int id = 0; id < FIELDS; id++) outer[id] = inner[id] = ABSENT;
  if (!read_struct(from, outer, inner)) return false;
  *header = (page_header){outer[1], outer[2], outer[3], outer[4], inner[1], inner[2], inner[3]};
  return header->size >= 0 && header->compressed_size >= 0;
}

/* Whether a page, as it stands in the file, has the checksum that its header says, if it says one. */
static inline bool is_sound(const page_header *header, input body) {
  return header->checksum == ABSENT ||
         (uint32_t)header->checksum == headrace_crc32(body.at, body.end - body.at);
}

/* The levels of a page, which stand before its values, behind their size. */
static inline bool take_levels(input *page, input *levels) {
  uint32_t size;
  return read_number(page, 4, &size) && take(page, size, levels);
}

#endif
