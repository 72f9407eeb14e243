#include <stdbool.h>
#include <string.h>

#include "kernels.h"

typedef struct {
  const uint8_t *at, *end;
} input;

typedef struct {
  const uint8_t *table;
  uint8_t *at, *end; /* of the verdicts */
  uint32_t number;   /* the codes of a map that is not complete yet, the first one lowest */
  int32_t shift;     /* how many bits they take */
  int32_t bits, width;
  uint8_t said; /* all verdicts together */
} judge;

static bool read_head(input *from, uint64_t *head) {
  *head = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    if (from->at == from->end) return false;
    const uint8_t byte = *from->at++;
    *head |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return *head <= UINT32_MAX;
  }
  return false;
}

static inline void say(judge *to, uint32_t number) { to->said |= *to->at++ = to->table[number]; }

static inline void add_code(judge *to, uint32_t code) {
  to->number |= code << to->shift;
  to->shift += to->bits;
  if (to->shift < to->width) return;
  say(to, to->number);
  to->number = 0;
  to->shift = 0;
}

/* So many bits of at most a few bytes from a place on. */
static inline uint32_t bits_at(const input *run, int64_t place, int32_t count) {
  const uint8_t *from = run->at + (place >> 3);
  uint32_t word = 0;
  memcpy(&word, from, run->end - from < 4 ? (size_t)(run->end - from) : sizeof word);
  return word >> (place & 7) & ((1u << count) - 1);
}

/* Whole maps, as long as a word can be read; it is most of the work. Returns where it stopped. */
static int64_t take_maps(judge *to, const input *run, int64_t place) {
  const int64_t bits = (run->end - run->at) * 8 - 32 - place, maps = to->end - to->at;
  int64_t count = bits < 0 ? 0 : bits / to->width;
  if (count > maps) count = maps;
  const uint8_t *restrict table = to->table, *restrict codes = run->at;
  uint8_t *restrict verdicts = to->at;
  const uint32_t mask = (1u << to->width) - 1;
  uint8_t said = 0;
  for (int64_t map = 0; map < count; map++, place += to->width) {
    uint32_t word;
    memcpy(&word, codes + (place >> 3), sizeof word);
    said |= verdicts[map] = table[word >> (place & 7) & mask];
  }
  to->at += count;
  to->said |= said;
  return place;
}

static void take_packed(judge *to, const input *run) {
  const int64_t end = (run->end - run->at) * 8;
  int64_t place = 0;
  for (; to->shift && place < end && to->at < to->end; place += to->bits)
    add_code(to, bits_at(run, place, to->bits));
  for (place = take_maps(to, run, place); place < end && to->at < to->end; place += to->bits)
    add_code(to, bits_at(run, place, to->bits));
}

static bool take_run(judge *to, input *from) {
  uint64_t head;
  if (!read_head(from, &head) || head <= 1) return false;
  const bool is_packed = head & 1;
  const uint64_t size = is_packed ? (head >> 1) * (uint64_t)to->bits : ((uint64_t)to->bits + 7) / 8;
  if (size > (uint64_t)(from->end - from->at)) return false;
  const input run = {from->at, from->at + size};
  from->at = run.end;
  if (is_packed) {
    take_packed(to, &run);
    return true;
  }
  uint32_t code = 0;
  memcpy(&code, run.at, size);
  if (code >> to->bits) return false;
  for (uint64_t left = head >> 1; left && to->at < to->end; left--) add_code(to, code);
  return true;
}

int64_t headrace_coded_verdicts(const uint8_t *data, int64_t size, int32_t bits, int32_t width,
                                const uint8_t *table, uint8_t *verdicts, int64_t maps) {
  input from = {data, data + size};
  judge to = {.table = table, .at = verdicts, .end = verdicts + maps, .bits = bits, .width = width};
  while (to.at < to.end)
    if (!take_run(&to, &from)) return -1;
  return to.said;
}
