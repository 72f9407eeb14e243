/* The loops that are worth compiling. All of them are pure: they read and write only what they are
   given, keep nothing, and check every bound, since their input comes from files. Whatever is
   unusual they leave to the caller, who has a slower way that knows everything. */
#ifndef HEADRACE_KERNELS_H
#define HEADRACE_KERNELS_H

#include <stdint.h>

/* Raised whenever a signature changes, here and in library.py: neither then calls an older one. */
#define HEADRACE_ABI 1

int32_t headrace_abi(void);

/* Texts of a Parquet page, appended to an Arrow column: `out` holds their bytes, and offsets[i + 1]
   says where the text of row i ends; offsets[0] is where the first one begins. `present` has a byte
   for each row, zero where it is null; NULL: no row is. Both functions return how many rows they
   have done before `out` was full, and move `*at` to where they stopped; -1: the page is damaged.

   The texts of a plain page stand one after the other, each behind its length; `*at` counts bytes. */
int64_t headrace_plain_texts(const uint8_t *page, int64_t size, int64_t *at, const uint8_t *present,
                             int64_t rows, int32_t *offsets, uint8_t *out, int64_t capacity);

/* Those of a coded page are codes of words, which are an Arrow column; `*at` counts codes, of which
   there must be as many as rows that are present. */
int64_t headrace_coded_texts(const uint16_t *codes, const int32_t *word_offsets, const uint8_t *words,
                             int64_t word_count, int64_t *at, const uint8_t *present, int64_t rows,
                             int32_t *offsets, uint8_t *out, int64_t capacity);

/* The rows of a column of paths that a bitmap of keys does not rule out, in order; `found` has room
   for all rows. Returns how many there are. match.py has the same in NumPy, and the reasons. */
int64_t headrace_paths_in_doubt(const int32_t *offsets, const uint8_t *data, int64_t rows,
                                const uint8_t *bitmap, int32_t shift, int64_t *found);

#endif
