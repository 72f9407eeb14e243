/* Bytes that are read in order, and integers in as few of them as they need. */
#ifndef HEADRACE_VARINT_H
#define HEADRACE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const uint8_t *at, *end;
} input;

/* An integer of at most 32 bits. */
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

/* An integer of so many bytes, at most four, the first one lowest. */
static inline bool read_number(input *from, int32_t size, uint32_t *number) {
  if (from->end - from->at < size) return false;
  uint32_t found = 0;
  for (int32_t byte = 0; byte < size; byte++) found |= (uint32_t)from->at[byte] << 8 * byte;
  *number = found;
  from->at += size;
  return true;
}

/* Takes so many bytes. */
static inline bool take(input *from, uint64_t size, input *taken) {
  if (size > (uint64_t)(from->end - from->at)) return false;
  *taken = (input){from->at, from->at + size};
  from->at += size;
  return true;
}

#endif
