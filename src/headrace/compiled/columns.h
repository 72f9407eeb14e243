/* A column chunk of a flat column: its pages, one after the other, and what has been decoded. */
#ifndef HEADRACE_COLUMNS_H
#define HEADRACE_COLUMNS_H

#include <string.h>

#include "kernels.h"
#include "page.h"
#include "runs.h"
#include "snappy.h"

enum { SEGMENT = 4096, LENGTH_SIZE = 4, COPY_STEP = 32 };
enum { HEADER_GUESS = 1 << 12, LARGEST_HEADER = 1 << 20 };

/* The position in a chunk, kept between calls. */
typedef struct {
  int64_t rows;       /* left in the page */
  int64_t entries;    /* in the dictionary */
  int64_t longest;    /* of its byte arrays */
  input values;       /* PLAIN values left in the page */
  runs levels, codes; /* the rest of those in the page */
  bool is_skipped;    /* the page was not decompressed */
  bool is_coded;
  bool has_levels; /* else no row of the page is null */
  bool has_dictionary;
} position;

_Static_assert(sizeof(position) <= sizeof((headrace_column){0}.state), "no room for the state");

/* Unpack `count` numbers. The largest is added to `largest`, so that it can be checked once. */
static inline bool take_numbers(runs *of, uint32_t *out, int64_t count, uint32_t *largest) {
  if (!of->bits) {
    memset(out, 0, (size_t)count * sizeof *out);
    return true;
  }
  while (count) {
    if (!of->left && !begin_run(of)) return false;
    const int64_t here = (int64_t)of->left < count ? (int64_t)of->left : count;
    int64_t at = 0;
    uint32_t top = *largest;
    if (of->is_packed) {
      const uint64_t mask = (1ull << of->bits) - 1;
      const int64_t bytes = of->packed.end - of->packed.at;
      const uint64_t start = (uint64_t)of->place, bits = (uint64_t)of->bits;
      /* As many as can be read by words of eight bytes. */
      int64_t whole = bytes >= 8 ? (int64_t)(((uint64_t)(bytes - 7) * 8 - 1) / bits) + 1 : 0;
      whole -= (int64_t)(start / bits);
      if (whole > here) whole = here;
      for (; at < whole; at++) {
        const uint64_t bit = start + (uint64_t)at * bits;
        uint64_t word;
        memcpy(&word, of->packed.at + (bit >> 3), sizeof word);
        const uint32_t number = (uint32_t)(word >> (bit & 7) & mask);
        out[at] = number;
        top = number > top ? number : top;
      }
      of->place += at * of->bits;
      for (; at < here; at++) {
        const uint32_t number = packed_number(of);
        out[at] = number;
        top = number > top ? number : top;
      }
    } else {
      const uint32_t number = of->number;
      for (; at < here; at++) out[at] = number;
      top = number > top ? number : top;
    }
    *largest = top;
    of->left -= (uint64_t)here;
    out += here;
    count -= here;
  }
  return true;
}

/* Unpack the chosen ones of the next `rows` numbers; `chosen` counts from `first` on. */
static inline bool take_chosen_numbers(runs *of, int64_t rows, const uint32_t *chosen, int64_t first,
                                       int64_t count, uint32_t *out, uint32_t *largest) {
  int64_t row = 0, done = 0;
  uint32_t top = 0;
  while (row < rows) {
    if (of->bits && !of->left && !begin_run(of)) return false;
    const int64_t here = of->bits && (int64_t)of->left < rows - row ? (int64_t)of->left : rows - row;
    const int64_t end = first + row + here;
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
      of->left -= (uint64_t)here;
      if (of->is_packed) of->place += here * of->bits;
    }
    row += here;
  }
  *largest = top;
  return done == count;
}

/* Whether a page's levels are one run of ones: no row of it is null. */
static inline bool are_all_defined(runs levels, int64_t rows) {
  return begin_run(&levels) && !levels.is_packed && levels.number == 1 &&
         levels.left >= (uint64_t)rows;
}

/* Whether a page's levels are runs of just as many rows, but for the padding of the last. */
static inline bool are_whole(runs levels, int64_t rows) {
  uint64_t total = 0;
  levels.is_packed = false;
  while (levels.from.at < levels.from.end) {
    if (!begin_run(&levels)) return false;
    total += levels.left;
  }
  return total >= (uint64_t)rows && total - (uint64_t)rows < (levels.is_packed ? 8u : 1u);
}

/* Note where each entry of a dictionary of byte arrays starts. */
static inline bool find_entries(
    const headrace_column *chunk, int64_t count, int64_t size, int64_t *longest) {
  int64_t at = 0;
  for (int64_t entry = 0; entry < count; entry++) {
    uint32_t length;
    if (size - at < LENGTH_SIZE) return false;
    memcpy(&length, chunk->dictionary + at, LENGTH_SIZE); /* little-endian, as the machine must be */
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

/* Prepare the data page that has been decompressed. */
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
  const int32_t bits = page.at < page.end ? *page.at++ : 0; /* none where all rows are null */
  at->codes = (runs){.from = page, .bits = bits};
  return bits <= HEADRACE_MOST_CODE_BITS;
}

/* Decompress a page; HEADRACE_DONE if that has been done. */
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
    if (size) memcpy(room + plain, body.at, (size_t)size); /* else there may be no room */
    return HEADRACE_DONE;
  }
  if (!size && !stored) return HEADRACE_DONE; /* a page of version 2 that has levels alone */
  if (chunk->codec == HEADRACE_SNAPPY)
    return decompress_snappy(body, room + plain, size) ? HEADRACE_DONE : HEADRACE_UNUSUAL;
  chunk->body_at = body.at - chunk->input;
  chunk->body_size = stored;
  chunk->room_at = plain;
  chunk->wanted = size;
  return is_dictionary ? HEADRACE_DECOMPRESS_WORDS : HEADRACE_DECOMPRESS_PAGE;
}

/* Read the next page. A data page of at most `unwanted` rows is skipped without decompressing it. */
static inline int64_t next_page(headrace_column *chunk, position *at, int64_t unwanted) {
  const uint8_t *start = chunk->input + chunk->input_at;
  input from = {start, chunk->input + chunk->input_size}, body;
  page_header header;
  if (!read_header(&from, &header)) {
    const int64_t have = chunk->input_size - chunk->input_at;
    chunk->wanted = have < HEADER_GUESS ? HEADER_GUESS : 2 * have;
    return have < LARGEST_HEADER ? HEADRACE_MORE_INPUT : HEADRACE_UNUSUAL;
  }
  const bool is_dictionary = header.kind == DICTIONARY_PAGE;
  if (!is_dictionary && header.kind != DATA_PAGE && header.kind != DATA_PAGE_V2)
    return HEADRACE_UNUSUAL;
  if (header.count < 0 || header.level_bytes < 0 || header.repetition_bytes) return HEADRACE_UNUSUAL;
  chunk->wanted = from.at - start + header.compressed_size;
  if (!is_dictionary && header.count > 0 && header.count <= unwanted) {
    /* Its bytes need not be in the window. */
    chunk->input_at += chunk->wanted;
    at->rows = header.count;
    at->is_skipped = true;
    return HEADRACE_DONE;
  }
  if (!take(&from, (uint64_t)header.compressed_size, &body)) return HEADRACE_MORE_INPUT;
  chunk->wanted = header.size;
  if (is_dictionary) {
    chunk->wanted_entries = header.count;
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
