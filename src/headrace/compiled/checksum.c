#include <string.h>

#include "kernels.h"

enum { TABLES = 16, BYTES = 256, WORD_BYTES = 4 };

#define REVERSED_POLYNOMIAL 0xEDB88320u

/* tables[n][byte] is the contribution of a byte to the checksum when n bytes follow it. */
static uint32_t tables[TABLES][BYTES];

/* Runs when the library is loaded, before any thread can read the tables. */
__attribute__((constructor)) static void fill_tables(void) {
  for (uint32_t byte = 0; byte < BYTES; byte++) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? REVERSED_POLYNOMIAL : 0);
    tables[0][byte] = sum;
  }
  for (int table = 1; table < TABLES; table++)
    for (int byte = 0; byte < BYTES; byte++) {
      const uint32_t before = tables[table - 1][byte];
      tables[table][byte] = before >> 8 ^ tables[0][before & 255];
    }
}

/* Return the contribution of a four-byte word that `following` bytes follow. */
static inline uint32_t changed_by(uint32_t word, int following) {
  return tables[following + 3][word & 255] ^ tables[following + 2][word >> 8 & 255] ^
         tables[following + 1][word >> 16 & 255] ^ tables[following][word >> 24];
}

int64_t headrace_crc32(const uint8_t *data, int64_t size) {
  uint32_t sum = UINT32_MAX;
  for (; size >= TABLES; size -= TABLES, data += TABLES) {
    uint32_t words[TABLES / WORD_BYTES];
    memcpy(words, data, TABLES); /* little-endian, like the machine */
    /* Sixteen independent lookups. */
    sum = changed_by(words[0] ^ sum, 12) ^ changed_by(words[1], 8) ^ changed_by(words[2], 4) ^
          changed_by(words[3], 0);
  }
  for (; size > 0; size--) sum = sum >> 8 ^ tables[0][(sum ^ *data++) & 255];
  return sum ^ UINT32_MAX;
}
