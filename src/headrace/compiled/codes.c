#include <string.h>

#include "kernels.h"
#include "page.h"
#include "runs.h"
#include "snappy.h"

enum { MOST_BITS = 16, UNKNOWN = 2 };

typedef struct {
  const headrace_maps *maps;
  int32_t bits, width; /* the bits of a code, and of all codes of a map */
  uint8_t *at, *end;   /* the next verdict, and the end of the page's verdicts */
  uint32_t number;     /* the codes of an incomplete map, the first in the lowest bits */
  int32_t shift;       /* the number of bits in `number` */
  uint8_t any_verdict;        /* the OR of all verdicts */
} judge;

/* Compute the verdict on every combination of codes that a map may have. */
static void make_table(judge *to, int32_t bits) {
  const headrace_maps *maps = to->maps;
  to->bits = bits;
  to->width = bits * maps->values;
  for (uint32_t number = 0; number < 1u << to->width; number++) {
    uint8_t verdict = 1;
    for (int32_t value = 0; value < maps->values; value++) {
      const int64_t code = number >> bits * value & ((1u << bits) - 1);
      verdict = code >= maps->texts ? UNKNOWN : verdict & maps->verdicts[value * maps->texts + code];
      if (verdict == UNKNOWN) break;
    }
    maps->table[number] = verdict;
  }
}

static inline void put_verdict(judge *to, uint32_t number) {
  to->any_verdict |= *to->at++ = to->maps->table[number];
}

static inline void add_code(judge *to, uint32_t code) {
  to->number |= code << to->shift;
  to->shift += to->bits;
  if (to->shift < to->width) return;
  put_verdict(to, to->number);
  to->number = 0;
  to->shift = 0;
}

/* Judge whole maps while a word can be read; this is most of the work. */
static void take_maps(judge *to, runs *codes) {
  const input run = codes->packed;
  const int64_t bits = (run.end - run.at) * 8 - 32 - codes->place, maps = to->end - to->at;
  int64_t count = bits < 0 ? 0 : bits / to->width;
  if (count > maps) count = maps;
  const uint8_t *restrict table = to->maps->table, *restrict from = run.at;
  uint8_t *restrict verdicts = to->at;
  const uint32_t mask = (1u << to->width) - 1;
  int64_t place = codes->place;
  uint8_t any_verdict = 0;
  for (int64_t map = 0; map < count; map++, place += to->width) {
    uint32_t word;
    memcpy(&word, from + (place >> 3), sizeof word);
    any_verdict |= verdicts[map] = table[word >> (place & 7) & mask];
  }
  to->at += count;
  to->any_verdict |= any_verdict;
  codes->place = place;
  codes->remaining -= (uint64_t)(count * to->maps->values);
}

/* Judge the codes of a run: whole maps at once, codes at its ends one by one. */
static bool take_run(judge *to, runs *codes) {
  uint32_t code;
  if (!begin_run(codes)) return false;
  while (codes->remaining && to->at < to->end) {
    if (codes->is_packed && !to->shift) take_maps(to, codes);
    if (!codes->remaining || to->at == to->end) break;
    next_number(codes, &code);
    add_code(to, code);
  }
  return true;
}

/* Return whether all values of a page are present, which must be stored as one run. */
static bool are_all_present(input levels, int32_t level, int32_t count) {
  uint64_t head;
  return read_varint(&levels, &head) && !(head & 1) && head >> 1 >= (uint64_t)count &&
         levels.at < levels.end && *levels.at == level;
}

static bool take_codes(judge *to, input page, int32_t count) {
  input levels;
  const headrace_maps *maps = to->maps;
  if (!count) return true;
  if (!take_levels(&page, &levels)) return false; /* repetition levels, which are those of the keys */
  if (!take_levels(&page, &levels) || !are_all_present(levels, maps->level, count)) return false;
  const int64_t portion = count / maps->values;
  if (count % maps->values || portion > maps->verdict_count - (to->at - maps->may_match)) return false;
  if (page.at == page.end) return false;
  const int32_t bits = *page.at++;
  if (bits * maps->values > MOST_BITS) return false;
  if (bits != to->bits) make_table(to, bits);
  to->end = to->at + portion;
  if (!bits) /* all codes are zero and take no space */
    while (to->at < to->end) put_verdict(to, 0);
  runs codes = {.from = page, .bits = bits};
  while (to->at < to->end)
    if (!take_run(to, &codes)) return false;
  return to->any_verdict < UNKNOWN && !to->shift;
}

static bool take_page(judge *to, input *from) {
  page_header header;
  input body;
  const headrace_maps *maps = to->maps;
  if (!read_header(from, &header) || header.kind != DATA_PAGE || header.count < 0) return false;
  if (!is_coded(&header)) return false;
  if (!take(from, (uint64_t)header.compressed_size, &body)) return false;
  if (!is_sound(&header, body)) return false;
  if (!maps->is_snappy) return take_codes(to, body, header.count);
  if (header.size > maps->room_size) return false;
  if (!decompress_snappy(body, maps->room, header.size)) return false;
  return take_codes(to, (input){maps->room, maps->room + header.size}, header.count);
}

int64_t headrace_judge_maps(const uint8_t *pages, int64_t size, const headrace_maps *maps) {
  input from = {pages, pages + size};
  judge to = {.maps = maps, .bits = -1, .at = maps->may_match};
  while (from.at < from.end)
    if (!take_page(&to, &from)) return -1;
  return to.at == maps->may_match + maps->verdict_count ? to.any_verdict : -1;
}
