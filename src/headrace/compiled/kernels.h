/* The loops that are worth compiling. All of them are pure: they read and write only what they are
   given, keep nothing but what a caller hands them again, and check every bound, since their input
   comes from files. Whatever is unusual they leave to the caller, who has a slower way that knows
   everything. */
#ifndef HEADRACE_KERNELS_H
#define HEADRACE_KERNELS_H

#include <stdint.h>

/* Raised with every function that is added or changed, here and in library.py, which then takes no
   older library. */
#define HEADRACE_ABI 6

int32_t headrace_abi(void);

/* The CRC-32 of some bytes, which is what zlib says, too. The loops that read pages check it. */
int64_t headrace_crc32(const uint8_t *data, int64_t size);

/* Why a loop has stopped. */
enum {
  HEADRACE_UNUSUAL = -1, /* the chunk is damaged, or written in a way that is not known here */
  HEADRACE_DONE,
  HEADRACE_MORE_INPUT, /* `wanted` bytes of the file from `input_at` on */
  HEADRACE_MORE_PAGE,  /* room for `wanted` bytes */
  HEADRACE_MORE_WORDS,
  HEADRACE_MORE_OUT,
  HEADRACE_DECOMPRESS_PAGE, /* `body_size` bytes from `body_at` on, into `wanted` ones */
  HEADRACE_DECOMPRESS_WORDS
};

enum { HEADRACE_NO_CODEC, HEADRACE_SNAPPY, HEADRACE_OTHER_CODEC };

/* A column chunk of texts that is being read. `page`, `words` and `word_starts` stay where they are
   until more of them is asked for: the loop remembers places in them. */
typedef struct {
  const uint8_t *input; /* bytes of the file */
  int64_t input_size;
  int64_t input_at; /* those before it have been used */
  uint8_t *page;    /* room for a page, decompressed */
  int64_t page_room;
  uint8_t *words; /* the same for the dictionary */
  int64_t words_room;
  int32_t *word_starts;
  int64_t most_words;
  int32_t depth; /* the level at which there is a text */
  int32_t codec;
  int64_t is_decompressed; /* by the caller, who was asked for it */
  int64_t wanted, body_at, body_size;
  uint64_t state[32]; /* the loop's own: zero at first */
} headrace_chunk;

/* Rows to be taken from a chunk, and an Arrow column that is being made of them. */
typedef struct {
  int64_t rows;
  int64_t done, leveled, taken; /* how far it has come: zero at first */
  const uint8_t *kept;          /* a byte for each row, 0 where it is left out, else 1; NULL: all */
  int64_t known;                /* how many of those there are: also of rows that come later */
  uint8_t *levels;              /* for each row; those of rows that are left out mean nothing */
  int32_t *offsets;             /* offsets[0] must be zero */
  uint8_t *out;
  int64_t capacity;
} headrace_rows;

/* Takes rows, as far as it can; called again when what it lacked is there, it goes on. */
int64_t headrace_texts(headrace_chunk *chunk, headrace_rows *to);

/* Copies those texts of an Arrow column that are kept, as many as `rows` bytes of `kept` are 1; there
   is room for all of them. Returns how many bytes they have. */
int64_t headrace_kept_texts(const int32_t *offsets, const uint8_t *data, const uint8_t *kept,
                            int64_t rows, int32_t *kept_offsets, uint8_t *out);

/* Writes the words that codes stand for, as an Arrow column; the words are one too. -1: a code stands
   for nothing, or there is no room. Else how many bytes they have. */
int64_t headrace_words(const int32_t *codes, int64_t count, const int32_t *word_offsets,
                       const uint8_t *words, int64_t word_count, int32_t *offsets, uint8_t *out,
                       int64_t capacity);

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
