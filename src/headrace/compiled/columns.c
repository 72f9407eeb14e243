#include "columns.h"

enum { SPARSE = 3 }; /* if fewer than one in SPARSE rows is chosen, only their codes are unpacked */

/* Up to SEGMENT rows of a page: which are null, and which are written. */
typedef struct {
  int64_t rows;
  int64_t values;         /* the number of non-null rows */
  const uint8_t *levels;  /* 0 for a null row; NULL if no row is null */
  const uint32_t *chosen; /* the rows to write; the segment starts at `first`. NULL: all */
  int64_t written, first;
  uint16_t place[SEGMENT]; /* if there are nulls: the index of each row's value */
} segment;

/* Return the value index of the n-th written row; -1 if it is null. */
static inline int64_t value_of(const segment *part, int64_t n) {
  const int64_t row = part->chosen ? part->chosen[n] - part->first : n;
  if (!part->levels) return row;
  return part->levels[row] ? part->place[row] : -1;
}

#define WRITE_FIXED(type)                                                  \
  static void write_##type(const segment *part, const void *from, void *to) { \
    const type *values = from;                                             \
    type *out = to;                                                        \
    if (!part->levels && !part->chosen) {                                  \
      memcpy(out, values, (size_t)part->rows * sizeof *out);               \
    } else if (!part->levels) {                                            \
      for (int64_t n = 0; n < part->written; n++)                          \
        memcpy(out + n, values + (part->chosen[n] - part->first), sizeof *out); \
    } else {                                                               \
      for (int64_t n = 0; n < part->written; n++) {                        \
        const int64_t value = value_of(part, n);                           \
        if (value < 0)                                                     \
          out[n] = 0;                                                      \
        else                                                               \
          memcpy(out + n, values + value, sizeof *out);                    \
      }                                                                    \
    }                                                                      \
  }

WRITE_FIXED(uint32_t)
WRITE_FIXED(uint64_t)

#define LOOK_UP(type)                                                                       \
  static void look_up_##type(const uint32_t *codes, int64_t count, const void *entries, void *to) { \
    type *out = to;                                                                         \
    for (int64_t n = 0; n < count; n++)                                                     \
      memcpy(out + n, (const type *)entries + codes[n], sizeof *out);                       \
  }

LOOK_UP(uint32_t)
LOOK_UP(uint64_t)

/* Copy a string in fixed steps if there is space to read and write beyond its end. */
static inline void copy_text(
    uint8_t *to, const uint8_t *to_end, const uint8_t *from, const uint8_t *from_end, uint32_t size) {
  if (to_end - to < (int64_t)size + COPY_STEP || from_end - from < (int64_t)size + COPY_STEP) {
    memcpy(to, from, size);
    return;
  }
  for (uint32_t done = 0; done < size; done += COPY_STEP) memcpy(to + done, from + done, COPY_STEP);
}

/* Write the strings of a segment; `starts` and `sizes` locate its values. */
static int64_t write_texts(const segment *part, const uint8_t *from, const uint8_t *from_end,
                           const uint32_t *starts, const uint32_t *sizes, headrace_column *chunk,
                           headrace_batch *to) {
  int64_t total = 0;
  for (int64_t n = 0; n < part->written; n++) {
    const int64_t value = value_of(part, n);
    total += value < 0 ? 0 : sizes[value];
  }
  int64_t used = to->offsets[to->written];
  if (total > to->capacity - used) {
    chunk->needed = used + total;
    return HEADRACE_MORE_OUT;
  }
  int32_t *offsets = to->offsets + to->written + 1;
  const uint8_t *end = to->out + to->capacity;
  for (int64_t n = 0; n < part->written; n++) {
    const int64_t value = value_of(part, n);
    if (value >= 0) {
      copy_text(to->out + used, end, from + starts[value], from_end, sizes[value]);
      used += sizes[value];
    }
    offsets[n] = (int32_t)used;
  }
  return HEADRACE_DONE;
}

/* Write the dictionary strings of codes without nulls and without bound checks: the caller has ensured
   space for the longest string in every row, and COPY_STEP bytes after the last. */
static void write_short_texts(
    const segment *part, const uint32_t *codes, const headrace_column *chunk, headrace_batch *to) {
  int64_t used = to->offsets[to->written];
  int32_t *offsets = to->offsets + to->written + 1;
  for (int64_t n = 0; n < part->written; n++) {
    const uint32_t code = codes[part->chosen ? part->chosen[n] - part->first : n];
    const int32_t start = chunk->starts[code];
    memcpy(to->out + used, chunk->dictionary + start, COPY_STEP);
    used += chunk->starts[code + 1] - LENGTH_SIZE - start;
    offsets[n] = (int32_t)used;
  }
}

/* Locate the strings of a page that has no codes. */
static bool find_texts(position *at, int64_t count, uint32_t *starts, uint32_t *sizes) {
  const uint8_t *begin = at->values.at;
  for (int64_t n = 0; n < count; n++) {
    if (at->values.end - at->values.at < LENGTH_SIZE) return false;
    memcpy(sizes + n, at->values.at, LENGTH_SIZE); /* little-endian, like the machine */
    at->values.at += LENGTH_SIZE;
    if (sizes[n] > at->values.end - at->values.at || at->values.at - begin > INT32_MAX) return false;
    starts[n] = (uint32_t)(at->values.at - begin);
    at->values.at += sizes[n];
  }
  return true;
}

/* Write the chosen rows of a segment; codes, if any, have been unpacked. */
static int64_t write_values(headrace_column *chunk, position *at, const segment *part,
                            const uint32_t *codes, headrace_batch *to) {
  if (to->as_codes) {
    write_uint32_t(part, codes, (uint32_t *)to->out + to->written);
    return HEADRACE_DONE;
  }
  if (chunk->width) {
    uint64_t looked_up[SEGMENT];
    const void *values = looked_up;
    if (at->is_coded) {
      (chunk->width == 4 ? look_up_uint32_t : look_up_uint64_t)(
          codes, part->values, chunk->dictionary, looked_up);
    } else {
      const int64_t size = part->values * chunk->width;
      if (at->values.end - at->values.at < size) return HEADRACE_UNUSUAL;
      values = at->values.at;
      at->values.at += size;
    }
    (chunk->width == 4 ? write_uint32_t : write_uint64_t)(
        part, values, to->out + to->written * chunk->width);
    return HEADRACE_DONE;
  }
  uint32_t starts[SEGMENT], sizes[SEGMENT];
  if (!at->is_coded) {
    const uint8_t *begin = at->values.at;
    if (!find_texts(at, part->values, starts, sizes)) return HEADRACE_UNUSUAL;
    return write_texts(part, begin, at->values.end, starts, sizes, chunk, to);
  }
  const int64_t room = to->capacity - to->offsets[to->written];
  if (!part->levels && at->longest <= COPY_STEP && chunk->starts[at->entries] + COPY_STEP <= chunk->dictionary_room) {
    if (part->written * at->longest + COPY_STEP > room) {
      const int64_t rows = (to->chosen ? to->chosen_count : to->rows) - to->written;
      chunk->needed = to->capacity - room + rows * at->longest + COPY_STEP;
      if (chunk->needed <= INT32_MAX) return HEADRACE_MORE_OUT;
    } else {
      write_short_texts(part, codes, chunk, to);
      return HEADRACE_DONE;
    }
  }
  for (int64_t n = 0; n < part->values; n++) {
    starts[n] = (uint32_t)chunk->starts[codes[n]];
    sizes[n] = (uint32_t)(chunk->starts[codes[n] + 1] - LENGTH_SIZE) - starts[n];
  }
  return write_texts(part, chunk->dictionary, chunk->dictionary + chunk->dictionary_room, starts,
                     sizes, chunk, to);
}

/* Decode the next rows of a page, at most SEGMENT; skip them if `to` is NULL. */
static int64_t take_segment(headrace_column *chunk, position *at, int64_t rows, headrace_batch *to) {
  uint8_t levels[SEGMENT];
  uint32_t codes[SEGMENT];
  segment part;
  part.rows = part.values = part.written = rows;
  part.levels = NULL;
  part.chosen = NULL;
  if (at->has_levels) {
    if (!take_bytes(&at->levels, levels, rows)) return HEADRACE_UNUSUAL;
    part.values = 0;
    for (int64_t row = 0; row < rows; row++) {
      part.place[row] = (uint16_t)part.values;
      part.values += levels[row];
    }
    if (part.values < rows) part.levels = levels;
  }
  if (to && to->chosen) {
    int64_t end = to->chosen_done;
    while (end < to->chosen_count && to->chosen[end] < to->done + rows) end++;
    part.chosen = to->chosen + to->chosen_done;
    part.first = to->done;
    part.written = end - to->chosen_done;
  }
  if (at->is_coded) {
    uint32_t largest = 0;
    const bool is_sparse = part.chosen && !part.levels && SPARSE * part.written < rows;
    if (is_sparse) {
      if (!take_chosen_numbers(
              &at->codes, rows, part.chosen, part.first, part.written, codes, &largest))
        return HEADRACE_UNUSUAL;
      part.chosen = NULL; /* the segment now has only the chosen rows */
      part.rows = part.values = part.written;
    } else if (!take_numbers(&at->codes, codes, part.values, &largest)) {
      return HEADRACE_UNUSUAL;
    }
    if (part.values && largest >= at->entries) return HEADRACE_UNUSUAL;
  }
  if (!to || !part.written) {
    if (at->is_coded) return HEADRACE_DONE;
    if (chunk->width) {
      if (at->values.end - at->values.at < part.values * chunk->width) return HEADRACE_UNUSUAL;
      at->values.at += part.values * chunk->width;
      return HEADRACE_DONE;
    }
    uint32_t starts[SEGMENT], sizes[SEGMENT];
    return find_texts(at, part.values, starts, sizes) ? HEADRACE_DONE : HEADRACE_UNUSUAL;
  }
  const int64_t status = write_values(chunk, at, &part, codes, to);
  if (status != HEADRACE_DONE) return status;
  uint8_t *valid = to->valid + to->written;
  if (!part.levels) {
    memset(valid, 1, (size_t)part.written);
  } else {
    for (int64_t n = 0; n < part.written; n++) {
      valid[n] = value_of(&part, n) >= 0;
      to->nulls += !valid[n];
    }
  }
  to->written += part.written;
  to->chosen_done += part.written;
  return HEADRACE_DONE;
}

/* Return the number of rows before the next one to write. */
static int64_t skippable_rows(const headrace_batch *to) {
  if (!to->chosen) return to->skip;
  const int64_t next = to->chosen_done < to->chosen_count ? to->chosen[to->chosen_done] : to->rows;
  return to->skip + next - to->done;
}

int64_t headrace_take_column(headrace_column *chunk, headrace_batch *to) {
  position at;
  int64_t status = HEADRACE_DONE;
  if (chunk->input_at < 0 || (chunk->width != 0 && chunk->width != 4 && chunk->width != 8))
    return HEADRACE_UNUSUAL;
  const int64_t to_write = to->chosen ? to->chosen_count - to->chosen_done : to->rows - to->done;
  if (to_write > to->room - to->written) return HEADRACE_UNUSUAL;
  memcpy(&at, chunk->state, sizeof at);
  while (status == HEADRACE_DONE && (to->skip || to->done < to->rows)) {
    if (!at.rows) {
      if (chunk->input_at > chunk->input_size) { /* pages were skipped beyond the window */
        chunk->needed = HEADER_GUESS;
        status = HEADRACE_MORE_INPUT;
      } else {
        status = next_page(chunk, &at, skippable_rows(to));
      }
      continue;
    }
    int64_t rows = to->skip ? to->skip : to->rows - to->done;
    if (rows > at.rows) rows = at.rows;
    if (!at.is_skipped) {
      if (rows > SEGMENT) rows = SEGMENT;
      if (!to->skip && to->as_codes && !at.is_coded) {
        status = HEADRACE_NOT_CODED;
        break;
      }
      const position before = at; /* a segment without enough space is decoded again */
      status = take_segment(chunk, &at, rows, to->skip ? NULL : to);
      if (status != HEADRACE_DONE) {
        at = before;
        break;
      }
    }
    at.rows -= rows;
    *(to->skip ? &to->skip : &to->done) += to->skip ? -rows : rows;
  }
  memcpy(chunk->state, &at, sizeof at);
  return status;
}

int64_t headrace_dictionary(const headrace_column *chunk, int32_t *offsets, uint8_t *out) {
  position at;
  memcpy(&at, chunk->state, sizeof at);
  int32_t used = 0;
  for (int64_t entry = 0; entry < at.entries; entry++) {
    const int32_t start = chunk->starts[entry], size = chunk->starts[entry + 1] - LENGTH_SIZE - start;
    memcpy(out + used, chunk->dictionary + start, (size_t)size);
    offsets[entry] = used;
    used += size;
  }
  offsets[at.entries] = used;
  return at.entries;
}

int64_t headrace_set_bits(const uint8_t *bits, int64_t first, int64_t count, uint32_t *out) {
  int64_t written = 0, at = 0;
  while (at < count) {
    const int64_t bit = first + at;
    uint64_t word = 0;
    int64_t portion = 56; /* fits a word wherever the first bit is in its byte */
    if (portion > count - at) portion = count - at;
    memcpy(&word, bits + (bit >> 3), (size_t)(((bit & 7) + portion + 7) >> 3));
    word = word >> (bit & 7) & ((1ull << portion) - 1);
    for (; word; word &= word - 1) out[written++] = (uint32_t)(at + __builtin_ctzll(word));
    at += portion;
  }
  return written;
}
