#include <string.h>

#include "kernels.h"

enum { STEP = 32 };

/* Copies a text by steps where there is room to write and to read beyond its end: texts are short,
   and a call for each of them would cost more than the copy. */
static inline void copy(uint8_t *to, int64_t room, const uint8_t *from, int64_t left, uint32_t size) {
  if (room < (int64_t)size + STEP || left < (int64_t)size + STEP) {
    memcpy(to, from, size);
    return;
  }
  for (uint32_t done = 0; done < size; done += STEP) memcpy(to + done, from + done, STEP);
}

int64_t headrace_plain_texts(const uint8_t *page, int64_t size, int64_t *at, const uint8_t *present,
                             int64_t rows, int32_t *offsets, uint8_t *out, int64_t capacity) {
  int64_t from = *at, used = offsets[0], row = 0;
  for (; row < rows; row++) {
    if (!present || present[row]) {
      uint32_t length;
      if (size - from < (int64_t)sizeof length) return -1;
      memcpy(&length, page + from, sizeof length); /* little-endian, as the machine must be */
      const int64_t text = from + (int64_t)sizeof length;
      if (length > size - text) return -1;
      if (length > capacity - used) break;
      copy(out + used, capacity - used, page + text, size - text, length);
      used += length;
      from = text + length;
    }
    offsets[row + 1] = (int32_t)used;
  }
  *at = from;
  return row;
}

int64_t headrace_coded_texts(const uint16_t *codes, const int32_t *word_offsets, const uint8_t *words,
                             int64_t word_count, int64_t *at, const uint8_t *present, int64_t rows,
                             int32_t *offsets, uint8_t *out, int64_t capacity) {
  int64_t from = *at, used = offsets[0], row = 0;
  const int64_t end = word_offsets[word_count];
  for (; row < rows; row++) {
    if (!present || present[row]) {
      const uint16_t code = codes[from];
      if (code >= word_count) return -1;
      const int64_t word = word_offsets[code];
      const uint32_t length = (uint32_t)(word_offsets[code + 1] - word);
      if (length > capacity - used) break;
      copy(out + used, capacity - used, words + word, end - word, length);
      used += length;
      from++;
    }
    offsets[row + 1] = (int32_t)used;
  }
  *at = from;
  return row;
}
