/* Parquet's mix of runs and bit-packed numbers, one after the other: levels and codes. */
#ifndef HEADRACE_RUNS_H
#define HEADRACE_RUNS_H

#include <string.h>

#include "varint.h"

enum { MOST_BITS_OF_NUMBER = 16 };

typedef struct {
  input from, packed;
  uint64_t left; /* in the run that has begun */
  int64_t place; /* in bits, of a packed run */
  int32_t bits;
  uint32_t number; /* of a run that repeats it */
  bool is_packed;
} runs;

static inline bool begin_run(runs *of) {
  uint64_t head;
  if (!read_varint(&of->from, &head) || head <= 1) return false;
  of->is_packed = head & 1;
  of->left = head >> 1;
  of->place = 0;
  if (!of->is_packed)
    return read_number(&of->from, (of->bits + 7) / 8, &of->number) && !(of->number >> of->bits);
  const uint64_t size = of->left * (uint64_t)of->bits;
  of->left *= 8;
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
  if (!of->bits) { /* there is but one, of which nothing is written */
    *number = 0;
    return true;
  }
  if (!of->left && !begin_run(of)) return false;
  of->left--;
  *number = of->is_packed ? packed_number(of) : of->number;
  return true;
}

/* The next numbers, a byte each. */
static inline bool take_bytes(runs *of, uint8_t *out, int64_t count) {
  while (count) {
    if (!of->left && !begin_run(of)) return false;
    const int64_t here = (int64_t)of->left < count ? (int64_t)of->left : count;
    if (of->is_packed)
      for (int64_t at = 0; at < here; at++) out[at] = (uint8_t)packed_number(of);
    else
      memset(out, (int)of->number, (size_t)here);
    of->left -= (uint64_t)here;
    out += here;
    count -= here;
  }
  return true;
}

#endif
