/* Decompressing Snappy. Calling a library from Python for each page would take longer than
   decompressing the page. */
#ifndef HEADRACE_SNAPPY_H
#define HEADRACE_SNAPPY_H

#include <stdbool.h>
#include <string.h>

#include "varint.h"

enum { LITERAL, NEAR_COPY, COPY, FAR_COPY };
enum { LONG_LITERAL = 60, STRIDE = 16, LONGEST_COPY = 64, SLACK = 80 };

static inline bool copy_literal(input *from, uint8_t **to, const uint8_t *end, uint32_t tag) {
  uint32_t size = tag >> 2;
  if (size >= LONG_LITERAL && !read_number(from, (int32_t)size - LONG_LITERAL + 1, &size))
    return false;
  const uint64_t count = (uint64_t)size + 1;
  if (count > (uint64_t)(from->end - from->at) || count > (uint64_t)(end - *to)) return false;
  if (count <= STRIDE && from->end - from->at >= STRIDE && end - *to >= STRIDE)
    memcpy(*to, from->at, STRIDE); /* with a constant size, this is not a function call */
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
    for (uint32_t done = 0; done < count; done++) (*to)[done] = from[done]; /* source and target may overlap */
  *to += count;
  return true;
}

/* Copy bytes from an overlapping source; writes up to 16 bytes more than `count`. */
static inline void copy_repeated(uint8_t *to, uint64_t offset, uint64_t count) {
  const uint8_t *from = to - offset, *end = to + count;
  uint64_t word;
  while (to - from < (int64_t)sizeof word) { /* each step doubles the repeated pattern */
    memcpy(&word, from, sizeof word);
    memcpy(to, &word, sizeof word);
    to += to - from;
  }
  for (; to < end; to += sizeof word, from += sizeof word) {
    memcpy(&word, from, sizeof word);
    memcpy(to, &word, sizeof word);
  }
}

static inline uint64_t rotated(uint64_t word, uint64_t bits) {
  return word >> bits | word << (-bits & 63);
}

/* Decompress a sequence of short literals and of copies from four or eight bytes back, as in plain
   integers that differ little. The last eight written bytes stay in a register: loading them again
   would wait for overlapping stores. Stops at any other element. At least 8 bytes must already be
   written. Not inline: inside `decompress_usual` it makes compilers branch there, and texts take half
   as long again. */
static __attribute__((noinline)) void decompress_integers(
    const uint8_t **read, const uint8_t *read_end, uint8_t **written, const uint8_t *write_end) {
  const uint8_t *at = *read;
  uint8_t *to = *written;
  uint64_t tail, word;
  memcpy(&tail, to - sizeof tail, sizeof tail);
  while (read_end - at > SLACK && write_end - to > SLACK) {
    const uint32_t tag = *at;
    uint64_t count = (tag >> 2) + 1;
    if ((tag & 3) == LITERAL) {
      if (count > sizeof word) break;
      memcpy(&word, at + 1, sizeof word);
      memcpy(to, &word, sizeof word);
      at += 1 + count;
      const uint64_t spare_bits = 8 * (sizeof word - count);
      tail = (tail >> 1 >> (63 - spare_bits)) | word << spare_bits;
    } else {
      uint32_t offset = at[1];
      if ((tag & 3) == NEAR_COPY) {
        offset |= (tag >> 5) << 8;
        count = (tag >> 2 & 7) + 4;
      } else if ((tag & 3) == COPY) {
        offset |= (uint32_t)at[2] << 8;
      } else {
        break;
      }
      if (offset != 8 && offset != 4) break;
      word = offset == 8 ? tail : tail >> 32 | (tail >> 32 << 32);
      for (uint64_t done = 0; done < count; done += sizeof word) memcpy(to + done, &word, sizeof word);
      at += 1 + (tag & 3);
      const uint64_t shift = 8 * (count & 7);
      tail = count < sizeof word ? tail >> shift | word << (64 - shift) : rotated(word, shift);
    }
    to += count;
  }
  *read = at;
  *written = to;
}

/* Decompress most of a block: short elements that do not overlap, while both ends are so far away that
   no bound needs a check. The kind and size of the next element are unpredictable, so the code does
   not branch on them: it always copies the maximum number of bytes, and it reads the next tag at both
   possible positions. */
static inline void decompress_usual(
    input *from, const uint8_t *begin, uint8_t **written, const uint8_t *end) {
  static const uint32_t offset_bits[] = {[NEAR_COPY] = 0xff, [COPY] = 0xffff, [FAR_COPY] = 0};
  const uint8_t *at = from->at;
  uint8_t *to = *written;
  if (to - begin < STRIDE) return;
  uint64_t tag = *at;
  while (from->end - at > SLACK && end - to > SLACK) {
    const uint64_t kind = tag & 3, size = (tag >> 2) + 1, near_size = (tag >> 2 & 7) + 4;
    const uint64_t if_literal = -(uint64_t)(kind == LITERAL), if_near = -(uint64_t)(kind == NEAR_COPY);
    uint32_t next_bytes;
    memcpy(&next_bytes, at + 1, sizeof next_bytes); /* little-endian, like the machine */
    const uint64_t offset = (next_bytes & offset_bits[kind]) | ((tag >> 5) << 8 & if_near);
    const uint64_t most_offset = (uint64_t)(to - begin);
    if ((size & if_literal) > LONG_LITERAL) break;
    if (((offset - STRIDE) & ~if_literal) > most_offset - STRIDE) {
      if (!offset || offset >= STRIDE) break;
      if (offset == 8 || offset == 4) {
        decompress_integers(&at, from->end, &to, end);
        tag = *at;
        continue;
      }
      /* Numbers of a few bytes that differ little. */
      copy_repeated(to, offset, (near_size & if_near) | (size & ~if_near));
      to += (near_size & if_near) | (size & ~if_near);
      at += 1 + kind;
      tag = *at;
      continue;
    }
    const uint8_t *const sources[] = {to - offset, at + 1}, *source = sources[kind == LITERAL];
    const uint64_t after_literal = at[1 + size], after_copy = at[1 + kind];
    tag = kind == LITERAL ? after_literal : after_copy;
    at += 1 + (kind | (size & if_literal));
    for (int done = 0; done < LONGEST_COPY; done += STRIDE) memcpy(to + done, source + done, STRIDE);
    to += (near_size & if_near) | (size & ~if_near);
  }
  from->at = at;
  *written = to;
}

/* Decompress a block to exactly `expected` bytes; return whether it is valid. */
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
