/* Decompressing Snappy, where a call of a library from Python for each page would take longer than
   the page itself. */
#ifndef HEADRACE_SNAPPY_H
#define HEADRACE_SNAPPY_H

#include <stdbool.h>
#include <string.h>

#include "varint.h"

enum { LITERAL, NEAR_COPY, COPY, LONG_LITERAL = 60, STRIDE = 16, LONGEST_COPY = 64, SLACK = 80 };

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

/* Copies so many bytes, at most `LONGEST_COPY`, and perhaps more: by steps, since a step too many
   costs less than to find out. */
static inline void copy_steps(uint8_t *to, const uint8_t *from, uint32_t count) {
  memcpy(to, from, STRIDE);
  memcpy(to + STRIDE, from + STRIDE, STRIDE);
  if (count <= 2 * STRIDE) return;
  memcpy(to + 2 * STRIDE, from + 2 * STRIDE, STRIDE);
  memcpy(to + 3 * STRIDE, from + 3 * STRIDE, STRIDE);
}

/* Most of a block: what is short and does not repeat itself, as long as the ends are so far away that
   no bound of it needs a look. */
static inline void decompress_usual(
    input *from, const uint8_t *begin, uint8_t **written, const uint8_t *end) {
  const uint8_t *at = from->at;
  uint8_t *to = *written;
  while (from->end - at > SLACK && end - to > SLACK) {
    const uint32_t tag = *at;
    uint32_t offset, count = (tag >> 2) + 1;
    if ((tag & 3) == LITERAL) {
      if (count > LONG_LITERAL) break;
      if (count <= STRIDE)
        memcpy(to, at + 1, STRIDE);
      else
        copy_steps(to, at + 1, count);
      at += 1 + count;
    } else if ((tag & 3) == NEAR_COPY) {
      offset = (tag >> 5) << 8 | at[1];
      if (offset < STRIDE || offset > (uint64_t)(to - begin)) break;
      count = (tag >> 2 & 7) + 4;
      memcpy(to, to - offset, STRIDE);
      at += 2;
    } else if ((tag & 3) == COPY) {
      offset = at[1] | (uint32_t)at[2] << 8;
      if (offset < STRIDE || offset > (uint64_t)(to - begin)) break;
      copy_steps(to, to - offset, count);
      at += 3;
    } else {
      break;
    }
    to += count;
  }
  from->at = at;
  *written = to;
}

/* Whether a block is sound and gives as many bytes as expected, which are then in `out`. */
static inline bool decompress_snappy(input from, uint8_t *out, int64_t expected) {
  uint64_t size;
  if (!read_varint(&from, &size) || size != (uint64_t)expected) return false;
  uint8_t *to = out, *end = out + expected;
  while (from.at < from.end) {
    decompress_usual(&from, out, &to, end);
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
