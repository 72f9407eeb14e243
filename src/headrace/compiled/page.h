/* Reading the header of a Parquet page, a struct in Thrift's compact protocol. */
#ifndef HEADRACE_PAGE_H
#define HEADRACE_PAGE_H

#include <stddef.h>

#include "kernels.h"
#include "varint.h"

enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2, DATA_PAGE_V2 = 3 };
enum { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, RLE_DICTIONARY = 8 };
enum { T_TRUE = 1, T_FALSE, T_BYTE, T_I16, T_I32, T_I64, T_DOUBLE, T_BINARY, T_LIST, T_STRUCT = 12 };
enum { DATA_PAGE_HEADER = 5, DICTIONARY_PAGE_HEADER = 7, DATA_PAGE_HEADER_V2 = 8 };
enum { FIELDS = 8, DEEPEST_STRUCT = 8 };

#define ABSENT INT64_MIN /* no field of a header has such a value */

typedef struct {
  int64_t kind, size, compressed_size, checksum, count, encoding, level_encoding;
  /* For a data page of version 2: its levels, which are uncompressed and precede its values. */
  int64_t level_bytes, repetition_bytes, is_compressed;
} page_header;

static inline bool is_coded(const page_header *header) {
  return header->encoding == RLE_DICTIONARY || header->encoding == PLAIN_DICTIONARY;
}

static inline bool read_integer(input *from, int64_t *number) {
  uint64_t coded;
  if (!read_varint(from, &coded)) return false;
  *number = (int32_t)(coded >> 1) ^ -(int32_t)(coded & 1);
  return true;
}

static inline bool read_field(input *from, int32_t *id, int32_t *type) {
  int64_t number;
  if (from->at == from->end) return false;
  const uint8_t head = *from->at++;
  *type = head & 15;
  *id += head >> 4;
  if (!*type || head >> 4) return true;
  if (!read_integer(from, &number)) return false;
  *id = (int32_t)number; /* more than 15 after the last one, or before it */
  return true;
}

/* Read the type and the number of the elements of a list. */
static inline bool read_list(input *from, int32_t *type, uint64_t *count) {
  if (from->at == from->end) return false;
  const uint8_t head = *from->at++;
  *type = head & 15;
  *count = head >> 4;
  if (*count == 15 && !read_varint(from, count)) return false;
  return *count <= (uint64_t)(from->end - from->at); /* every element has at least a byte */
}

static inline bool skip_field(input *from, int32_t type, int depth);

/* Skip an element of a list, where a boolean takes a byte. */
static inline bool skip_element(input *from, int32_t type, int depth) {
  return skip_field(from, type == T_TRUE || type == T_FALSE ? T_BYTE : type, depth);
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
    case T_I64: /* up to ten bytes */
      for (int count = 0; count < 10 && from->at < from->end; count++)
        if (*from->at++ < 0x80) return true;
      return false;
    case T_BYTE: return take(from, 1, &skipped);
    case T_DOUBLE: return take(from, 8, &skipped);
    case T_LIST:
      if (depth == DEEPEST_STRUCT || !read_list(from, &type, &size)) return false;
      for (; size; size--)
        if (!skip_element(from, type, depth + 1)) return false;
      return true;
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

static inline bool is_inner_header(int32_t id) {
  return id == DATA_PAGE_HEADER || id == DICTIONARY_PAGE_HEADER || id == DATA_PAGE_HEADER_V2;
}

/* Read a struct: its integers and booleans into `fields` by id, and those of the nested header of the
   page's kind into `inner`. Everything else is skipped. */
static inline bool read_struct(input *from, int64_t *fields, int64_t *inner) {
  int32_t id = 0, type;
  while (read_field(from, &id, &type)) {
    bool done;
    if (!type) return true;
    if (id < FIELDS && type == T_I32)
      done = read_integer(from, fields + id);
    else if (id < FIELDS && (type == T_TRUE || type == T_FALSE))
      done = true, fields[id] = type == T_TRUE;
    else if (is_inner_header(id) && type == T_STRUCT && inner)
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
  *header = (page_header){outer[1], outer[2], outer[3], outer[4], inner[1], inner[2], inner[3], 0, 0, 1};
  if (header->kind == DATA_PAGE_V2) {
    header->encoding = inner[4];
    header->level_encoding = RLE;
    header->level_bytes = inner[5];
    header->repetition_bytes = inner[6];
    header->is_compressed = inner[7] != 0; /* absent: true */
  }
  return header->size >= 0 && header->compressed_size >= 0;
}

/* Return whether the stored bytes of a page match the checksum in its header, if it has one. */
static inline bool is_sound(const page_header *header, input body) {
  return header->checksum == ABSENT ||
         (uint32_t)header->checksum == headrace_crc32(body.at, body.end - body.at);
}

/* Take the levels of a page, which precede its values and are prefixed by their size. */
static inline bool take_levels(input *page, input *levels) {
  uint32_t size;
  return read_number(page, 4, &size) && take(page, size, levels);
}

#endif
