/* Reading bytes in order, and variable-length integers. */
#ifndef HEADRACE_VARINT_H
#define HEADRACE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const uint8_t *at, *end;
} input;

/* Read a variable-length integer of at most 32 bits. */
static inline bool read_varint(input *from, uint64_t *number) {
  *number = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    if (from->at == from->end) return false;
    const uint8_t byte = *from->at++;
    *number |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return *number <= UINT32_MAX;
  }
  return false;
}

/* Read a little-endian integer of `size` bytes, at most four. */
static inline bool read_number(input *from, int32_t size, uint32_t *number) {
  if (from->end - from->at < size) return false;
  uint32_t value = 0;
  for (int32_t byte = 0; byte < size; byte++) value |= (uint32_t)from->at[byte] << 8 * byte;
  *number = value;
  from->at += size;
  return true;
}

/* Take the next `size` bytes. */
static inline bool take(input *from, uint64_t size, input *taken) {
  if (size > (uint64_t)(from->end - from->at)) return false;
  *taken = (input){from->at, from->at + size};
  from->at += size;
  return true;
}

#endif
