/* Decoding Parquet's RLE/bit-packed hybrid encoding of levels and codes, within other loops.
   `engines/arrow/checkpoint/rle.py` decodes what these loops decline. */
#ifndef HEADRACE_RUNS_H
#define HEADRACE_RUNS_H

#include <string.h>

#include "varint.h"

enum { MOST_BITS_OF_NUMBER = 16 };

typedef struct {
  input from, packed;
  uint64_t remaining; /* numbers in the current run */
  int64_t place; /* position in a packed run, in bits */
  int32_t bits;
  uint32_t number; /* the number that a run repeats */
  bool is_packed;
} runs;

static inline bool begin_run(runs *of) {
  uint64_t head;
  if (!read_varint(&of->from, &head) || head <= 1) return false;
  of->is_packed = head & 1;
  of->remaining = head >> 1;
  of->place = 0;
  if (!of->is_packed)
    return read_number(&of->from, (of->bits + 7) / 8, &of->number) && !(of->number >> of->bits);
  const uint64_t size = of->remaining * (uint64_t)of->bits;
  of->remaining *= 8;
  return take(&of->from, size, &of->packed);
}

static inline uint32_t packed_number(runs *of) {
  const uint8_t *from = of->packed.at + (of->place >> 3);
  uint32_t word = 0;
  memcpy(&word, from, of->packed.end - from < 4 ? (size_t)(of->packed.end - from) : sizeof word);
  const uint32_t number = word >> (of->place & 7) & ((1u << of->bits) - 1);
  of->place += of->bits;
  return number;
}

static inline bool next_number(runs *of, uint32_t *number) {
  if (!of->bits) { /* all numbers are zero and take no space */
    *number = 0;
    return true;
  }
  if (!of->remaining && !begin_run(of)) return false;
  of->remaining--;
  *number = of->is_packed ? packed_number(of) : of->number;
  return true;
}

/* Write the next `count` numbers, a byte each. */
static inline bool take_bytes(runs *of, uint8_t *out, int64_t count) {
  while (count) {
    if (!of->remaining && !begin_run(of)) return false;
    const int64_t portion = (int64_t)of->remaining < count ? (int64_t)of->remaining : count;
    if (of->is_packed)
      for (int64_t at = 0; at < portion; at++) out[at] = (uint8_t)packed_number(of);
    else
      memset(out, (int)of->number, (size_t)portion);
    of->remaining -= (uint64_t)portion;
    out += portion;
    count -= portion;
  }
  return true;
}

#endif
