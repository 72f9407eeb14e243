/* Decoding the pages of a column chunk of a flat column, one after the other. */
#ifndef HEADRACE_COLUMNS_H
#define HEADRACE_COLUMNS_H

#include <string.h>

#include "kernels.h"
#include "page.h"
#include "runs.h"
#include "snappy.h"

enum { SEGMENT = 4096, LENGTH_SIZE = 4, COPY_STEP = 32 };
enum { HEADER_GUESS = 1 << 12, LARGEST_HEADER = 1 << 20 };

/* The position in a chunk, preserved between calls. */
typedef struct {
  int64_t rows;       /* remaining in the page */
  int64_t entries;    /* number of dictionary entries */
  int64_t longest;    /* size of the longest entry */
  input values;       /* remaining PLAIN values of the page */
  runs levels, codes; /* remaining levels and codes of the page */
  bool is_skipped;    /* the page was not decompressed */
  bool is_coded;
  bool has_levels; /* if false, no row of the page is null */
  bool has_dictionary;
} position;

_Static_assert(sizeof(position) <= sizeof((headrace_column){0}.state), "no room for the state");

/* Unpack `count` numbers, and raise `largest` to the largest of them, to check it once. */
static inline bool take_numbers(runs *of, uint32_t *out, int64_t count, uint32_t *largest) {
  if (!of->bits) {
    memset(out, 0, (size_t)count * sizeof *out);
    return true;
  }
  while (count) {
    if (!of->remaining && !begin_run(of)) return false;
    const int64_t portion = (int64_t)of->remaining < count ? (int64_t)of->remaining : count;
    int64_t at = 0;
    uint32_t top = *largest;
    if (of->is_packed) {
      const uint64_t mask = (1ull << of->bits) - 1;
      const int64_t bytes = of->packed.end - of->packed.at;
      const uint64_t start = (uint64_t)of->place, bits = (uint64_t)of->bits;
      /* The numbers that can be read with whole eight-byte words. */
      int64_t whole = bytes >= 8 ? (int64_t)(((uint64_t)(bytes - 7) * 8 - 1) / bits) + 1 : 0;
      whole -= (int64_t)(start / bits);
      if (whole > portion) whole = portion;
      for (; at < whole; at++) {
        const uint64_t bit = start + (uint64_t)at * bits;
        uint64_t word;
        memcpy(&word, of->packed.at + (bit >> 3), sizeof word);
        const uint32_t number = (uint32_t)(word >> (bit & 7) & mask);
        out[at] = number;
        top = number > top ? number : top;
      }
      of->place += at * of->bits;
      for (; at < portion; at++) {
        const uint32_t number = packed_number(of);
        out[at] = number;
        top = number > top ? number : top;
      }
    } else {
      const uint32_t number = of->number;
      for (; at < portion; at++) out[at] = number;
      top = number > top ? number : top;
    }
    *largest = top;
    of->remaining -= (uint64_t)portion;
    out += portion;
    count -= portion;
  }
  return true;
}

/* Unpack the chosen ones of the next `rows` numbers; indices in `chosen` start at `first`. */
static inline bool take_chosen_numbers(runs *of, int64_t rows, const uint32_t *chosen, int64_t first,
                                       int64_t count, uint32_t *out, uint32_t *largest) {
  int64_t row = 0, done = 0;
  uint32_t top = 0;
  while (row < rows) {
    if (of->bits && !of->remaining && !begin_run(of)) return false;
    const int64_t portion = of->bits && (int64_t)of->remaining < rows - row ? (int64_t)of->remaining : rows - row;
    const int64_t end = first + row + portion;
    for (; done < count && chosen[done] < end; done++) {
      uint32_t number = of->bits ? of->number : 0;
      if (of->bits && of->is_packed) {
        const int64_t bit = of->place + (chosen[done] - first - row) * of->bits;
        const uint8_t *from = of->packed.at + (bit >> 3);
        uint32_t word = 0;
        memcpy(&word, from, of->packed.end - from < 4 ? (size_t)(of->packed.end - from) : sizeof word);
        number = word >> (bit & 7) & ((1u << of->bits) - 1);
      }
      out[done] = number;
      top = number > top ? number : top;
    }
    if (of->bits) {
      of->remaining -= (uint64_t)portion;
      if (of->is_packed) of->place += portion * of->bits;
    }
    row += portion;
  }
  *largest = top;
  return done == count;
}

/* Return whether the levels of a page are one run of ones, so that no row is null. */
static inline bool are_all_defined(runs levels, int64_t rows) {
  return begin_run(&levels) && !levels.is_packed && levels.number == 1 &&
         levels.remaining >= (uint64_t)rows;
}

/* Return whether the levels of a page are exactly `rows`, except for the padding of the last run. */
static inline bool are_whole(runs levels, int64_t rows) {
  uint64_t total = 0;
  levels.is_packed = false;
  while (levels.from.at < levels.from.end) {
    if (!begin_run(&levels)) return false;
    total += levels.remaining;
  }
  return total >= (uint64_t)rows && total - (uint64_t)rows < (levels.is_packed ? 8u : 1u);
}

/* Record where each entry of a dictionary of byte arrays starts. */
static inline bool find_entries(
    const headrace_column *chunk, int64_t count, int64_t size, int64_t *longest) {
  int64_t at = 0;
  for (int64_t entry = 0; entry < count; entry++) {
    uint32_t length;
    if (size - at < LENGTH_SIZE) return false;
    memcpy(&length, chunk->dictionary + at, LENGTH_SIZE); /* little-endian, like the machine */
    at += LENGTH_SIZE;
    if (length > size - at) return false;
    chunk->starts[entry] = (int32_t)at;
    at += length;
    if (length > *longest) *longest = length;
  }
  chunk->starts[count] = (int32_t)(at + LENGTH_SIZE);
  return true;
}

static inline bool begin_dictionary(
    const headrace_column *chunk, position *at, const page_header *header) {
  if (at->has_dictionary || (header->encoding != PLAIN && header->encoding != PLAIN_DICTIONARY))
    return false;
  if (chunk->width ? header->size / chunk->width < header->count
                   : !find_entries(chunk, header->count, header->size, &at->longest))
    return false;
  at->entries = header->count;
  at->has_dictionary = true;
  return true;
}

/* Prepare to decode the decompressed data page. */
static inline bool begin_data(const headrace_column *chunk, position *at, const page_header *header) {
  input page = {chunk->page, chunk->page + header->size}, levels = {page.at, page.at};
  if (header->kind == DATA_PAGE_V2) {
    if (!take(&page, (uint64_t)header->level_bytes, &levels)) return false;
  } else if (chunk->is_optional) {
    if (header->level_encoding != RLE || !take_levels(&page, &levels)) return false;
  }
  at->levels = (runs){.from = levels, .bits = 1};
  if (chunk->is_optional && !are_whole(at->levels, header->count)) return false;
  at->has_levels = chunk->is_optional && !are_all_defined(at->levels, header->count);
  at->rows = header->count;
  at->is_coded = is_coded(header);
  at->values = page;
  if (!at->is_coded) return header->encoding == PLAIN;
  const int32_t bits = page.at < page.end ? *page.at++ : 0; /* absent if all rows are null */
  at->codes = (runs){.from = page, .bits = bits};
  return bits <= HEADRACE_MOST_CODE_BITS;
}

/* Decompress a page; return HEADRACE_DONE, or a request to the caller to decompress it. */
static inline int64_t decompress(
    headrace_column *chunk, const page_header *header, input body, uint8_t *room, bool is_dictionary) {
  const int64_t plain = header->kind == DATA_PAGE_V2 ? header->level_bytes : 0;
  const int64_t size = header->size - plain, stored = header->compressed_size - plain;
  if (plain < 0 || size < 0 || stored < 0) return HEADRACE_UNUSUAL;
  if (chunk->is_decompressed) {
    chunk->is_decompressed = 0;
    return HEADRACE_DONE;
  }
  if (!is_sound(header, body)) return HEADRACE_UNUSUAL;
  if (plain) memcpy(room, body.at, (size_t)plain);
  body.at += plain;
  if (chunk->codec == HEADRACE_NO_CODEC || !header->is_compressed) {
    if (size != stored) return HEADRACE_UNUSUAL;
    if (size) memcpy(room + plain, body.at, (size_t)size); /* `room` may be NULL if size is 0 */
    return HEADRACE_DONE;
  }
  if (!size && !stored) return HEADRACE_DONE; /* a version 2 page with levels only */
  if (chunk->codec == HEADRACE_SNAPPY)
    return decompress_snappy(body, room + plain, size) ? HEADRACE_DONE : HEADRACE_UNUSUAL;
  chunk->body_at = body.at - chunk->input;
  chunk->body_size = stored;
  chunk->room_at = plain;
  chunk->needed = size;
  return is_dictionary ? HEADRACE_DECOMPRESS_WORDS : HEADRACE_DECOMPRESS_PAGE;
}

/* Read the next page. A data page of at most `skippable` rows is skipped, not decompressed. */
static inline int64_t next_page(headrace_column *chunk, position *at, int64_t skippable) {
  const uint8_t *start = chunk->input + chunk->input_at;
  input from = {start, chunk->input + chunk->input_size}, body;
  page_header header;
  if (!read_header(&from, &header)) {
    const int64_t have = chunk->input_size - chunk->input_at;
    chunk->needed = have < HEADER_GUESS ? HEADER_GUESS : 2 * have;
    return have < LARGEST_HEADER ? HEADRACE_MORE_INPUT : HEADRACE_UNUSUAL;
  }
  const bool is_dictionary = header.kind == DICTIONARY_PAGE;
  if (!is_dictionary && header.kind != DATA_PAGE && header.kind != DATA_PAGE_V2)
    return HEADRACE_UNUSUAL;
  if (header.count < 0 || header.level_bytes < 0 || header.repetition_bytes) return HEADRACE_UNUSUAL;
  chunk->needed = from.at - start + header.compressed_size;
  if (!is_dictionary && header.count > 0 && header.count <= skippable) {
    /* Its bytes need not be in the input window. */
    chunk->input_at += chunk->needed;
    at->rows = header.count;
    at->is_skipped = true;
    return HEADRACE_DONE;
  }
  if (!take(&from, (uint64_t)header.compressed_size, &body)) return HEADRACE_MORE_INPUT;
  chunk->needed = header.size;
  if (is_dictionary) {
    chunk->needed_entries = header.count;
    if (header.size > chunk->dictionary_room || header.count >= chunk->starts_room)
      return HEADRACE_MORE_WORDS;
  } else if (header.size > chunk->page_room) {
    return HEADRACE_MORE_PAGE;
  }
  const int64_t status =
      decompress(chunk, &header, body, is_dictionary ? chunk->dictionary : chunk->page, is_dictionary);
  if (status != HEADRACE_DONE) return status;
  at->is_skipped = false;
  chunk->input_at = from.at - chunk->input;
  const bool is_ready = is_dictionary ? begin_dictionary(chunk, at, &header)
                                      : begin_data(chunk, at, &header);
  return is_ready ? HEADRACE_DONE : HEADRACE_UNUSUAL;
}

#endif
