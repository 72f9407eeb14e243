#include <string.h>

#include "kernels.h"
#include "page.h"
#include "runs.h"
#include "snappy.h"

enum { STEP = 32, LENGTH_BYTES = 4, FIRST_LOOK = 1 << 12, LONGEST_HEADER = 1 << 20 };

/* The position in a chunk, preserved between calls. */
typedef struct {
  int64_t rows; /* remaining in the page */
  input values; /* remaining values of a page that has no codes */
  runs levels, codes;
  bool is_skipped, is_coded, has_code;
  uint32_t code; /* a code that was read but not used yet */
  int64_t words, words_size;
} place;

_Static_assert(sizeof(place) <= sizeof((headrace_chunk){0}.state), "no room for the state");

/* Copy a string in fixed steps if there is space to read and write beyond its end: strings are short,
   and a call for each would cost more than the copy. */
static inline void copy(uint8_t *to, int64_t room, const uint8_t *from, int64_t available, uint32_t size) {
  if (room < (int64_t)size + STEP || available < (int64_t)size + STEP) {
    memcpy(to, from, size);
    return;
  }
  for (uint32_t done = 0; done < size; done += STEP) memcpy(to + done, from + done, STEP);
}

/* Return the length-prefixed string at the beginning of some bytes. */
static inline bool first_text(input from, const uint8_t **text, uint32_t *size) {
  if (from.end - from.at < LENGTH_BYTES) return false;
  memcpy(size, from.at, LENGTH_BYTES); /* little-endian, like the machine */
  *text = from.at + LENGTH_BYTES;
  return *size <= from.end - *text;
}

/* Return the next string without consuming it; `pass` consumes it. */
static inline bool peek(
    const headrace_chunk *chunk, place *at, const uint8_t **text, uint32_t *size, int64_t *available) {
  if (!at->is_coded) {
    *available = at->values.end - at->values.at - LENGTH_BYTES;
    return first_text(at->values, text, size);
  }
  if (!at->has_code && !next_number(&at->codes, &at->code)) return false;
  at->has_code = true;
  if (at->code >= at->words) return false;
  const int32_t start = chunk->word_starts[at->code];
  *available = at->words_size - start - LENGTH_BYTES;
  return first_text((input){chunk->words + start, chunk->words + at->words_size}, text, size);
}

static inline void pass(place *at, uint32_t size) {
  at->has_code = false;
  if (!at->is_coded) at->values.at += LENGTH_BYTES + size;
}

/* Return whether the mask covers the next page and selects none of its rows. */
static bool may_skip(const headrace_rows *to, const page_header *header) {
  return to->mask && header->kind == DATA_PAGE && header->count > 0 &&
         header->count <= to->known - to->done &&
         !memchr(to->mask + to->done, 1, (size_t)header->count);
}

/* Read the remaining rows of a page, up to the last requested one. */
static int64_t take_rows(const headrace_chunk *chunk, place *at, headrace_rows *to) {
  int64_t end = to->done + at->rows;
  if (end > to->rows) end = to->rows;
  if (at->is_skipped) {
    memset(to->levels + to->done, 0, (size_t)(end - to->done));
    at->rows -= end - to->done;
    to->done = to->leveled = end;
    return HEADRACE_DONE;
  }
  if (to->leveled < end) {
    uint8_t *levels = to->levels + to->leveled;
    const int64_t count = end - to->leveled;
    if (!chunk->depth)
      memset(levels, 0, (size_t)count);
    else if (!take_bytes(&at->levels, levels, count))
      return HEADRACE_UNUSUAL;
    to->leveled = end;
  }
  int64_t used = to->offsets[to->taken], row = to->done, status = HEADRACE_DONE;
  for (; row < end; row++) {
    const bool is_selected = !to->mask || to->mask[row];
    if (to->levels[row] > chunk->depth) return HEADRACE_UNUSUAL;
    if (to->levels[row] == chunk->depth) {
      const uint8_t *text;
      uint32_t size;
      int64_t available;
      if (!peek(chunk, at, &text, &size, &available)) return HEADRACE_UNUSUAL;
      if (is_selected) {
        if (size > to->capacity - used) {
          status = HEADRACE_MORE_OUT;
          break;
        }
        copy(to->out + used, to->capacity - used, text, available, size);
        used += size;
      }
      pass(at, size);
    }
    if (is_selected) to->offsets[++to->taken] = (int32_t)used;
  }
  at->rows -= row - to->done;
  to->done = row;
  return status;
}

/* Record where each word of a dictionary begins. */
static bool find_words(const headrace_chunk *chunk, place *at, const page_header *header) {
  input from = {chunk->words, chunk->words + header->size};
  if (header->count < 0 || header->count > chunk->most_words) return false;
  for (int32_t word = 0; word < header->count; word++) {
    const uint8_t *text;
    uint32_t size;
    chunk->word_starts[word] = (int32_t)(from.at - chunk->words);
    if (!first_text(from, &text, &size)) return false;
    from.at = text + size;
  }
  at->words = header->count;
  at->words_size = header->size;
  return true;
}

/* Prepare to read the decompressed page. */
static bool begin_page(const headrace_chunk *chunk, place *at, const page_header *header) {
  if (header->kind == DICTIONARY_PAGE) return find_words(chunk, at, header);
  if (header->kind != DATA_PAGE || header->count < 0) return false;
  input page = {chunk->page, chunk->page + header->size}, levels;
  if (chunk->depth) {
    if (header->level_encoding != RLE || !take_levels(&page, &levels)) return false;
    at->levels = (runs){.from = levels, .bits = 32 - __builtin_clz((unsigned)chunk->depth)};
  }
  at->rows = header->count;
  at->is_coded = is_coded(header);
  if (!at->is_coded) {
    at->values = page;
    return header->encoding == PLAIN;
  }
  const int32_t bits = page.at < page.end ? *page.at++ : 0; /* absent if all rows are null */
  at->codes = (runs){.from = page, .bits = bits};
  return bits <= MOST_BITS_OF_NUMBER;
}

/* Read the next page; return HEADRACE_DONE, or why it stopped. */
static int64_t next_page(headrace_chunk *chunk, place *at, const headrace_rows *to) {
  const uint8_t *start = chunk->input + chunk->input_at;
  input from = {start, chunk->input + chunk->input_size}, body;
  page_header header;
  if (!read_header(&from, &header)) {
    const int64_t have = chunk->input_size - chunk->input_at;
    chunk->needed = have < FIRST_LOOK ? FIRST_LOOK : 2 * have;
    return have < LONGEST_HEADER ? HEADRACE_MORE_INPUT : HEADRACE_UNUSUAL;
  }
  chunk->needed = from.at - start + header.compressed_size;
  if (!take(&from, (uint64_t)header.compressed_size, &body)) return HEADRACE_MORE_INPUT;
  at->is_skipped = may_skip(to, &header);
  if (at->is_skipped) {
    at->rows = header.count;
    chunk->input_at = from.at - chunk->input;
    return HEADRACE_DONE;
  }
  const bool is_dictionary = header.kind == DICTIONARY_PAGE;
  uint8_t *room = is_dictionary ? chunk->words : chunk->page;
  chunk->needed = header.size;
  if (header.size > (is_dictionary ? chunk->words_room : chunk->page_room))
    return is_dictionary ? HEADRACE_MORE_WORDS : HEADRACE_MORE_PAGE;
  if (!chunk->is_decompressed && !is_sound(&header, body)) return HEADRACE_UNUSUAL;
  if (chunk->codec == HEADRACE_SNAPPY) {
    if (!decompress_snappy(body, room, header.size)) return HEADRACE_UNUSUAL;
  } else if (chunk->codec == HEADRACE_NO_CODEC) {
    if (header.size != header.compressed_size) return HEADRACE_UNUSUAL;
    if (header.size) memcpy(room, body.at, (size_t)header.size); /* `room` may be NULL if size is 0 */
  } else if (!chunk->is_decompressed) {
    chunk->body_at = body.at - chunk->input;
    chunk->body_size = header.compressed_size;
    return is_dictionary ? HEADRACE_DECOMPRESS_WORDS : HEADRACE_DECOMPRESS_PAGE;
  }
  chunk->is_decompressed = 0;
  chunk->input_at = from.at - chunk->input;
  return begin_page(chunk, at, &header) ? HEADRACE_DONE : HEADRACE_UNUSUAL;
}

int64_t headrace_texts(headrace_chunk *chunk, headrace_rows *to) {
  place at;
  int64_t status = HEADRACE_DONE;
  if (chunk->input_at < 0 || chunk->input_at > chunk->input_size) return HEADRACE_UNUSUAL;
  if (to->mask && to->known < to->rows) return HEADRACE_UNUSUAL;
  memcpy(&at, chunk->state, sizeof at);
  while (to->done < to->rows && status == HEADRACE_DONE)
    status = at.rows ? take_rows(chunk, &at, to) : next_page(chunk, &at, to);
  memcpy(chunk->state, &at, sizeof at);
  return status;
}

int64_t headrace_kept_texts(const int32_t *offsets, const uint8_t *data, const uint8_t *mask,
                            int64_t rows, int32_t *out_offsets, uint8_t *out) {
  int32_t used = 0;
  int64_t row = 0;
  *out_offsets++ = 0;
  while (row < rows) {
    const uint8_t *next = memchr(mask + row, 1, (size_t)(rows - row));
    if (!next) break;
    const int64_t start = next - mask;
    next = memchr(next, 0, (size_t)(rows - start));
    const int64_t end = next ? next - mask : rows;
    const int32_t shift = used - offsets[start];
    memcpy(out + used, data + offsets[start], (size_t)(offsets[end] - offsets[start]));
    for (row = start; row < end; row++) *out_offsets++ = offsets[row + 1] + shift;
    used = offsets[end] + shift;
  }
  return used;
}

int64_t headrace_words(const int32_t *codes, int64_t count, const int32_t *word_offsets,
                       const uint8_t *words, int64_t word_count, int32_t *offsets, uint8_t *out,
                       int64_t capacity) {
  const int64_t end = word_offsets[word_count];
  int64_t used = 0;
  for (int64_t at = 0; at < count; at++) {
    const int32_t code = codes[at];
    if (code < 0 || code >= word_count) return -1;
    const int32_t start = word_offsets[code];
    const uint32_t size = (uint32_t)(word_offsets[code + 1] - start);
    if (size > capacity - used) return -1;
    copy(out + used, capacity - used, words + start, end - start, size);
    offsets[at] = (int32_t)used;
    used += size;
  }
  offsets[count] = (int32_t)used;
  return used;
}
