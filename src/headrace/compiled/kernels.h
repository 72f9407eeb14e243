/* The interface of the compiled loops. All of them are pure: they read and write only their
   arguments, keep their state in structs that the caller passes in, and check every bound, since
   the input comes from files. They decline unusual input; the caller then uses a slower
   implementation that handles everything. */
#ifndef HEADRACE_KERNELS_H
#define HEADRACE_KERNELS_H

#include <stdint.h>

/* Increment this whenever a function is added or changed, here and in library.py, which rejects a
   library with another number. */
#define HEADRACE_ABI 10

int32_t headrace_abi(void);

/* Return the CRC-32 of some bytes, as zlib computes it. The loops that read pages check it. */
int64_t headrace_crc32(const uint8_t *data, int64_t size);

/* Why a loop stopped. */
enum {
  HEADRACE_UNUSUAL = -1, /* the chunk is damaged, or uses an unsupported encoding */
  HEADRACE_DONE,
  HEADRACE_MORE_INPUT, /* needs `needed` bytes of the file, starting at `input_at` */
  HEADRACE_MORE_PAGE,  /* needs space for `needed` bytes */
  HEADRACE_MORE_WORDS,
  HEADRACE_MORE_OUT,
  HEADRACE_DECOMPRESS_PAGE, /* `body_size` bytes at `body_at`, into exactly `needed` bytes */
  HEADRACE_DECOMPRESS_WORDS,
  HEADRACE_NOT_CODED /* the next page has no dictionary codes */
};

enum { HEADRACE_NO_CODEC, HEADRACE_SNAPPY, HEADRACE_OTHER_CODEC };

/* A column chunk of strings that is being read. The loop keeps positions in `page`, `words` and
   `word_starts`, so the caller must not move them, except when it is asked for a larger one. */
typedef struct {
  const uint8_t *input; /* bytes of the file */
  int64_t input_size;
  int64_t input_at; /* the position of the next unread byte */
  uint8_t *page;    /* buffer for a decompressed page */
  int64_t page_room;
  uint8_t *words; /* buffer for the decompressed dictionary */
  int64_t words_room;
  int32_t *word_starts;
  int64_t most_words;
  int32_t depth; /* the definition level of a non-null string */
  int32_t codec;
  int64_t is_decompressed; /* set by the caller after it decompressed a page on request */
  int64_t needed, body_at, body_size;
  uint64_t state[32]; /* private to the loop; initially zero */
} headrace_chunk;

/* The rows to read from a chunk, and the Arrow column that is built from them. */
typedef struct {
  int64_t rows;
  int64_t done, leveled, taken; /* progress; initially zero */
  const uint8_t *mask;          /* a byte per row: 1 to read it, 0 to omit it; NULL: all rows */
  int64_t known;                /* the size of the mask, which may cover later rows too */
  uint8_t *levels;              /* a level per row; undefined for omitted rows */
  int32_t *offsets;             /* offsets[0] must be zero */
  uint8_t *out;
  int64_t capacity;
} headrace_rows;

/* Read rows until done, or until something is missing; call it again to resume. */
int64_t headrace_texts(headrace_chunk *chunk, headrace_rows *to);

enum { HEADRACE_MOST_CODE_BITS = 24 };

/* A column chunk of a flat column that is being decoded: numbers of 4 or 8 bytes, or byte arrays.
   The caller must not move a buffer, except when it is asked for a larger one. */
typedef struct {
  const uint8_t *input; /* a window of the chunk's bytes */
  int64_t input_size;
  int64_t input_at; /* where the next page starts; beyond the window after skipped pages */
  uint8_t *page;    /* buffer for a decompressed page */
  int64_t page_room;
  uint8_t *dictionary; /* buffer for the decompressed dictionary */
  int64_t dictionary_room;
  int32_t *starts; /* where each entry of a dictionary of byte arrays starts */
  int64_t starts_room;
  int32_t width; /* the size of a value in bytes: 4 or 8; 0: byte arrays */
  int32_t is_optional;
  int32_t codec;
  int32_t is_decompressed; /* set by the caller after it decompressed a page on request */
  int64_t needed, needed_entries;
  int64_t body_at, body_size, room_at; /* what to decompress, and where in the page to put it */
  uint64_t state[32]; /* private to the loop; initially zero */
} headrace_column;

/* The rows to decode, and the Arrow array that is built from them. */
typedef struct {
  int64_t skip; /* the number of rows to skip first; decremented by the loop */
  int64_t rows;
  int64_t done;           /* initially zero */
  const uint32_t *chosen; /* the rows to write, ascending; NULL: all */
  int64_t chosen_count;
  int64_t chosen_done; /* initially zero */
  int64_t as_codes;    /* write dictionary codes, 4 bytes each */
  int64_t room;        /* the capacity of `valid`, `offsets` and `out`, in rows */
  int64_t written;     /* the number of rows written; initially zero */
  int64_t nulls;       /* initially zero */
  uint8_t *valid;      /* a byte per written row */
  int32_t *offsets;    /* of byte arrays; offsets[0] must be zero */
  uint8_t *out;
  int64_t capacity; /* of `out`, for byte arrays; at most INT32_MAX */
} headrace_batch;

/* Decode rows until done, or until something is missing; call it again to resume. Rows that are not
   chosen are not written, and a page without chosen rows is not decompressed. */
int64_t headrace_take_column(headrace_column *chunk, headrace_batch *to);

/* Write the most recent dictionary of byte arrays as an Arrow array; return its length. */
int64_t headrace_dictionary(const headrace_column *chunk, int32_t *offsets, uint8_t *out);

/* Write the indices of the set bits among `count` bits, starting at bit `first`; return the number
   of set bits. */
int64_t headrace_set_bits(const uint8_t *bits, int64_t first, int64_t count, uint32_t *out);

/* The location of a column chunk in its file. */
typedef struct {
  int64_t type, codec, values, size_bytes, data_at, dictionary_at; /* 0: no dictionary */
} headrace_place;

/* The content of the footer of a Parquet file with one row group. The bytes of its schema, its notes
   (key-value metadata) and its writer's name determine how its columns are read. */
typedef struct {
  int64_t schema_at, schema_size, notes_at, notes_size, writer_at, writer_size;
  int64_t rows;
  int64_t columns;
  headrace_place *places;
  int64_t most_places;
} headrace_footer;

/* Read the footer of a whole file. Return 0 if it is damaged, encrypted, or has several row groups. */
int64_t headrace_read_footer(const uint8_t *file, int64_t size, headrace_footer *footer);

/* Return whether the metadata of all column chunks in a footer agree with its schema, so that Arrow can
   decode them; 0 also if a column is encrypted. */
int64_t headrace_is_sound(const uint8_t *footer, int64_t size);

/* Columns to which the rows of small files are appended, one file after the other. */
typedef struct {
  int64_t count;
  const int32_t *leaf_columns; /* the leaf column number of each column in the file */
  headrace_column *columns;
  headrace_batch *batches;
  int64_t column;   /* the column being decoded; zero at the start of a file */
  int64_t is_begun; /* whether its chunk was opened; zero at the start of a file */
} headrace_appending;

/* Append the rows of a file. Return HEADRACE_DONE, or what `column` needs; call it again to resume. */
int64_t headrace_append_file(
    const uint8_t *file, int64_t size, const headrace_footer *footer, headrace_appending *to);

/* Copy the strings of an Arrow column for which the mask is 1. The output has space for all strings.
   Return the size of the copied strings in bytes. */
int64_t headrace_kept_texts(const int32_t *offsets, const uint8_t *data, const uint8_t *mask,
                            int64_t rows, int32_t *out_offsets, uint8_t *out);

/* Write the dictionary word of each code as an Arrow column; the words are an Arrow column too.
   Return the size in bytes, or -1 if a code is not in the dictionary or the space is insufficient. */
int64_t headrace_words(const int32_t *codes, int64_t count, const int32_t *word_offsets,
                       const uint8_t *words, int64_t word_count, int32_t *offsets, uint8_t *out,
                       int64_t capacity);

/* Find the rows of a column of paths that a bitmap of keys does not rule out, in order. The output
   has space for all rows. Return their number. match.py has the NumPy version and the reasons. */
int64_t headrace_paths_in_doubt(const int32_t *offsets, const uint8_t *data, int64_t rows,
                                const uint8_t *bitmap, int32_t shift, int64_t *rows_in_doubt);

/* Maps that all have the same keys, and the verdict on each code of their values. */
typedef struct {
  int32_t values;          /* the number of values per map */
  int32_t level;           /* the definition level of a value that is present */
  int64_t texts;           /* the number of codes in the dictionary */
  const uint8_t *verdicts; /* for each value of a map and each code: 1 if the map may match */
  uint8_t *table;          /* scratch space of 1 << 16 bytes */
  int32_t is_snappy;       /* if false, the pages are uncompressed */
  int64_t room_size;
  uint8_t *room; /* scratch space for a page */
  int64_t verdict_count;
  uint8_t *may_match; /* a byte per map: 1 if all of its values may match */
} headrace_maps;

/* Judge maps by the data pages of their values. Return whether any map may match, or -1 if the pages
   are damaged or unusual; the output is then undefined. */
int64_t headrace_judge_maps(const uint8_t *pages, int64_t size, const headrace_maps *maps);

/* The kind of a node. A number is stored as text, unchanged; a decimal has no exponent. */
enum {
  HEADRACE_LEVEL,
  HEADRACE_INTEGER,
  HEADRACE_BOOLEAN,
  HEADRACE_STRING,
  HEADRACE_NUMBER,
  HEADRACE_DECIMAL
};

/* A name on the path to a requested leaf of a JSON document. */
typedef struct {
  const uint8_t *name;
  int32_t name_size;
  int32_t kind;
  int32_t first_child; /* of a level; its children are adjacent */
  int32_t children;
  uint8_t *valid; /* of a leaf: a bit per document, initially zero */
  void *values;   /* of a leaf: int64_t per document for integers and booleans, else int32_t offsets */
  uint8_t *bytes; /* of a text leaf: space for as many bytes as all documents have */
} headrace_node;

/* Read leaves from an Arrow array of JSON documents. There are at most 64 nodes; the first one is the
   root. Return 0 if a document is damaged or unusual, or a leaf has another kind; the output is then
   undefined. */
int64_t headrace_leaves(
    const uint8_t *validity, const int32_t *offsets, const uint8_t *data, int64_t data_size,
    int64_t first, int64_t rows, const headrace_node *nodes, int32_t node_count);

/* The kind of a value of an Avro record. The operations of a record's fields, and of the items of a
   list or map, follow it; an item of a map is a string and a value. */
enum {
  HEADRACE_AVRO_NULL,
  HEADRACE_AVRO_BOOLEAN,
  HEADRACE_AVRO_INT,
  HEADRACE_AVRO_LONG,
  HEADRACE_AVRO_FIXED, /* `argument` bytes */
  HEADRACE_AVRO_TEXT,  /* a string, or bytes; only strings have a column */
  HEADRACE_AVRO_NULLABLE, /* branch `argument` is null; the other one follows */
  HEADRACE_AVRO_RECORD,
  HEADRACE_AVRO_ITEMS,
  HEADRACE_AVRO_UNION /* of `argument` branches without columns */
};

typedef struct {
  int32_t kind;
  int32_t column; /* -1: the value and its parts are skipped */
  int32_t argument;
  int32_t size; /* the number of operations, including those of its parts */
} headrace_avro_op;

/* A column that is counted, then filled. `count`, `bytes` and `nulls` are zero before each pass. */
typedef struct {
  int64_t count; /* the number of values */
  int64_t bytes; /* the size of the strings, or the number of items */
  int64_t nulls; /* the number of nulls in a column that is filled */
  uint8_t *valid; /* a byte per value, written only if there are nulls */
  int64_t *numbers;
  int32_t *offsets; /* offsets[0] must be zero */
  uint8_t *data;
} headrace_avro_column;

/* Count (if `fills` is 0) or fill the columns of some records. To be filled, columns must have space
   for what was counted, or for the maximum: there are no more strings and items than bytes. `data`
   needs 8 spare bytes. Only values of a nullable type can be null; other columns need no `valid`.
   Return 0, or -1 if the bytes are not exactly `records` records, or a string is not UTF-8. */
int64_t headrace_avro(const headrace_avro_op *record, const uint8_t *data, int64_t size,
                      int64_t records, headrace_avro_column *columns, int32_t fills);

#endif
