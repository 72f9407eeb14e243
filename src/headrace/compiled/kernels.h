/* The loops that are worth compiling. All of them are pure: they read and write only what they are
   given, keep nothing, and check every bound, since their input comes from files. Whatever is
   unusual they leave to the caller, who has a slower way that knows everything. */
#ifndef HEADRACE_KERNELS_H
#define HEADRACE_KERNELS_H

#include <stdint.h>

/* Raised with every function that is added or changed, here and in library.py, which then takes no
   older library. */
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

/* Maps of which all have the same keys, and what is said of the codes of their values. */
typedef struct {
  int32_t values;          /* of a map */
  int32_t level;           /* the definition level of a value that is there */
  int64_t texts;           /* how many codes stand for a text */
  const uint8_t *verdicts; /* for each value of a map and each code: 1 if the map may match */
  uint8_t *table;          /* room for 1 << 16 bytes */
  int32_t is_snappy;       /* else the pages are not compressed */
  int64_t room_size;
  uint8_t *room; /* for a page */
  int64_t verdict_count;
  uint8_t *found; /* a byte for each map: 1 if it may match by all of its values */
} headrace_maps;

/* Judges maps by the data pages of their values. Returns whether any map may match; -1: the pages are
   damaged or unusual, and what has been found means nothing. */
int64_t headrace_judge_maps(const uint8_t *pages, int64_t size, const headrace_maps *maps);

/* What a node is. A number is left as it is written; a decimal has no exponent. */
enum {
  HEADRACE_LEVEL,
  HEADRACE_INTEGER,
  HEADRACE_BOOLEAN,
  HEADRACE_STRING,
  HEADRACE_NUMBER,
  HEADRACE_DECIMAL
};

/* One of the names that lead to the leaves that are wanted of a text of JSON. */
typedef struct {
  const uint8_t *name;
  int32_t name_size;
  int32_t kind;
  int32_t first_child; /* of a level; all of them stand in a row */
  int32_t children;
  uint8_t *valid; /* of a leaf: a bit a text, all of them zero before */
  void *values;   /* of integers and booleans int64_t, one a text; of others int32_t, offsets */
  uint8_t *bytes; /* of others: room for as many as all texts have */
} headrace_node;

/* Reads leaves from an Arrow array of texts. The first of the nodes, of which there are at most 64,
   is the root. 0: some text is damaged or unusual, or a leaf is of another kind; what has been
   written then means nothing. */
int64_t headrace_leaves(
    const uint8_t *validity, const int32_t *offsets, const uint8_t *data, int64_t data_size,
    int64_t first, int64_t rows, const headrace_node *nodes, int32_t node_count);

#endif
