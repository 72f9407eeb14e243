#include <string.h>

#include "kernels.h"

/* As in path_column.py and match.py, which explain them. */
enum { WINDOW_START = 32, TAIL = 34, SURE = 49 };
static const uint64_t MULTIPLIER = 0x9E3779B97F4A7C15u, SECOND_MULTIPLIER = 0xC2B2AE3D27D4EB4Fu;

static inline int holds(const uint8_t *bitmap, int32_t shift, uint64_t hash) {
  const uint64_t number = hash >> shift;
  return bitmap[number >> 3] >> (number & 7) & 1;
}

static inline int has_escape(const uint8_t *text, int64_t size) {
  int has_percent = 0;
  for (int64_t i = 0; i < size; i++) has_percent |= text[i] == '%';
  return has_percent;
}

int64_t headrace_paths_in_doubt(const int32_t *offsets, const uint8_t *data, int64_t rows,
                                const uint8_t *bitmap, int32_t shift, int64_t *rows_in_doubt) {
  int64_t count = 0;
  for (int64_t row = 0; row < rows; row++) {
    const uint8_t *path = data + offsets[row];
    const int64_t size = (int64_t)offsets[row + 1] - offsets[row];
    int in_doubt = size < TAIL || has_escape(path + size - TAIL, TAIL);
    if (!in_doubt) {
      const uint8_t *window = path + size - WINDOW_START;
      uint64_t hash;
      memcpy(&hash, window, sizeof hash);
      hash *= MULTIPLIER;
      in_doubt = holds(bitmap, shift, hash) &&
                 holds(bitmap, shift, (hash ^ hash >> 32) * SECOND_MULTIPLIER);
      if (size < SURE || *window == '/')
        in_doubt |= has_escape(path, size) || memcmp(path, "file:", 5) == 0;
    }
    rows_in_doubt[count] = row;
    count += in_doubt;
  }
  return count;
}
