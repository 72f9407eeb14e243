/* Decompressing Snappy, where a call of a library from Python for each page would take longer than
   the page itself. */
#ifndef HEADRACE_SNAPPY_H
#define HEADRACE_SNAPPY_H

#include <stdbool.h>
#include <string.h>

#include "varint.h"

enum { LITERAL, NEAR_COPY, COPY, LONG_LITERAL = 60, STRIDE = 16, LONGEST_COPY = 64 };

static inline bool copy_literal(input *from, uint8_t **to, const uint8_t *end, uint32_t tag) {
  uint32_t size = tag >> 2;
  if (size >= LONG_LITERAL && !read_number(from, (int32_t)size - LONG_LITERAL + 1, &size))
    return false;
  const uint64_t count = (uint64_t)size + 1;
  if (count > (uint64_t)(from->end - from->at) || count > (uint64_t)(end - *to)) return false;
  if (count <= STRIDE && from->end - from->at >= STRIDE && end - *to >= STRIDE)
    memcpy(*to, from->at, STRIDE); /* of a size that is known, it is no call */
  else
    memcpy(*to, from->at, count);
  from->at += count;
  *to += count;
  return true;
}

static inline bool copy_again(
    const uint8_t *begin, uint8_t **to, const uint8_t *end, uint32_t offset, uint32_t count) {
  if (!offset || offset > (uint64_t)(*to - begin) || count > (uint64_t)(end - *to)) return false;
  const uint8_t *from = *to - offset;
  if (offset >= STRIDE && end - *to >= LONGEST_COPY)
    for (uint32_t done = 0; done < count; done += STRIDE) memcpy(*to + done, from + done, STRIDE);
  else
    for (uint32_t done = 0; done < count; done++) (*to)[done] = from[done]; /* it may repeat itself */
  *to += count;
  return true;
}

/* Whether a block is sound and gives as many bytes as expected, which are then in `out`. */
static inline bool decompress_snappy(input from, uint8_t *out, int64_t expected) {
  uint64_t size;
  if (!read_varint(&from, &size) || size != (uint64_t)expected) return false;
  uint8_t *to = out, *end = out + expected;
  while (from.at < from.end) {
    const uint32_t tag = *from.at++;
    uint32_t offset, count = (tag >> 2) + 1;
    bool done;
    switch (tag & 3) {
      case LITERAL: done = copy_literal(&from, &to, end, tag); break;
      case NEAR_COPY:
        count = (tag >> 2 & 7) + 4;
        done = read_number(&from, 1, &offset) &&
               copy_again(out, &to, end, (tag >> 5) << 8 | offset, count);
        break;
      case COPY:
        done = read_number(&from, 2, &offset) && copy_again(out, &to, end, offset, count);
        break;
      default:
        done = read_number(&from, 4, &offset) && copy_again(out, &to, end, offset, count);
    }
    if (!done) return false;
  }
  return to == end;
}

#endif
