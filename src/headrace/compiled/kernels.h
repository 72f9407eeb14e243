/* The loops that are worth compiling. All of them are pure: they read and write only what they are
   given, keep nothing but what a caller hands them again, and check every bound, since their input
   comes from files. Whatever is unusual they leave to the caller, who has a slower way that knows
   everything. */
#ifndef HEADRACE_KERNELS_H
#define HEADRACE_KERNELS_H

#include <stdint.h>

/* Raised with every function that is added or changed, here and in library.py, which then takes no
   older library. */
#define HEADRACE_ABI 8

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
  HEADRACE_DECOMPRESS_WORDS,
  HEADRACE_NOT_CODED /* the next page has no dictionary codes */
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

enum { HEADRACE_MOST_CODE_BITS = 24 };

/* A column chunk of a flat column that is being decoded: numbers of 4 or 8 bytes, or byte arrays.
   Buffers stay where they are until more room is asked for. */
typedef struct {
  const uint8_t *input; /* a window of the chunk's bytes */
  int64_t input_size;
  int64_t input_at; /* where the next page starts; beyond the window after skipped pages */
  uint8_t *page;    /* room for a decompressed page */
  int64_t page_room;
  uint8_t *dictionary; /* the same for the dictionary */
  int64_t dictionary_room;
  int32_t *starts; /* where each entry of a dictionary of byte arrays starts */
  int64_t starts_room;
  int32_t width; /* the bytes of a value: 4 or 8; 0: byte arrays */
  int32_t is_optional;
  int32_t codec;
  int32_t is_decompressed; /* by the caller, who was asked for it */
  int64_t wanted, wanted_entries;
  int64_t body_at, body_size, room_at; /* what to decompress, and where in the page to put it */
  uint64_t state[32]; /* the loop's own: zero at first */
} headrace_column;

/* The rows to decode, and the Arrow array that is being made of them. */
typedef struct {
  int64_t skip; /* rows before them, counted down */
  int64_t rows;
  int64_t done;           /* zero at first */
  const uint32_t *chosen; /* the rows to write, ascending; NULL: all */
  int64_t chosen_count;
  int64_t chosen_done; /* zero at first */
  int64_t as_codes;    /* write dictionary codes, 4 bytes each */
  int64_t room;        /* for rows, in `valid`, `offsets` and `out` */
  int64_t written;     /* rows; zero at first */
  int64_t nulls;       /* zero at first */
  uint8_t *valid;      /* a byte for each row that is written */
  int32_t *offsets;    /* of byte arrays; offsets[0] must be zero */
  uint8_t *out;
  int64_t capacity; /* of `out`, for byte arrays; at most INT32_MAX */
} headrace_batch;

/* Decodes rows, as far as it can; called again when what it lacked is there, it goes on. Rows that
   are not chosen are not written, and a page without chosen rows is not decompressed. */
int64_t headrace_take_column(headrace_column *chunk, headrace_batch *to);

/* Writes the dictionary of byte arrays that was read last as an Arrow array. Returns its length. */
int64_t headrace_dictionary(const headrace_column *chunk, int32_t *offsets, uint8_t *out);

/* Writes the indices of the bits that are set among `count` bits from the bit `first` on. Returns how
   many there are. */
int64_t headrace_set_bits(const uint8_t *bits, int64_t first, int64_t count, uint32_t *out);

/* Where a column chunk is in its file. */
typedef struct {
  int64_t type, codec, values, size_bytes, data_at, dictionary_at; /* 0: no dictionary */
} headrace_place;

/* What the footer of a Parquet file with one row group says. The bytes of its schema, of its notes
   (key and value metadata) and of its writer's name decide how its columns are read. */
typedef struct {
  int64_t schema_at, schema_size, notes_at, notes_size, writer_at, writer_size;
  int64_t rows;
  int64_t columns;
  headrace_place *places;
  int64_t most_places;
} headrace_footer;

/* Reads the footer of a whole file. 0: it is damaged, encrypted, or has several row groups. */
int64_t headrace_read_footer(const uint8_t *file, int64_t size, headrace_footer *footer);

/* Columns to which the rows of one small file after the other are appended. */
typedef struct {
  int64_t count;
  const int32_t *leaves; /* the number of each column among those of the file */
  headrace_column *columns;
  headrace_batch *batches;
  int64_t column;   /* the one that is being decoded: zero at the start of a file */
  int64_t is_begun; /* likewise */
} headrace_appending;

/* Appends the rows of a file. HEADRACE_DONE, or what `column` lacks: called again, it goes on. */
int64_t headrace_append_file(
    const uint8_t *file, int64_t size, const headrace_footer *footer, headrace_appending *to);

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

/* What a value of an Avro record is. A record's parts and the items of a list or map follow it; an
   item of a map is a text and a value. */
enum {
  HEADRACE_AVRO_NULL,
  HEADRACE_AVRO_BOOLEAN,
  HEADRACE_AVRO_INT,
  HEADRACE_AVRO_LONG,
  HEADRACE_AVRO_FIXED, /* `argument` bytes */
  HEADRACE_AVRO_TEXT,  /* or bytes: only texts have a column */
  HEADRACE_AVRO_NULLABLE, /* branch `argument` is null; the other one follows */
  HEADRACE_AVRO_RECORD,
  HEADRACE_AVRO_ITEMS,
  HEADRACE_AVRO_UNION /* of `argument` parts, none of which has a column */
};

typedef struct {
  int32_t kind;
  int32_t column; /* -1: it is passed over, and so are its parts */
  int32_t argument;
  int32_t size; /* how many operations it is, with its parts */
} headrace_avro_op;

/* A column that is counted, then filled. `count` and `bytes` are zero before each. */
typedef struct {
  int64_t count; /* of values */
  int64_t bytes; /* of texts, or how many items there are */
  uint8_t *valid; /* a byte for each value */
  int64_t *numbers;
  int32_t *offsets; /* offsets[0] must be zero */
  uint8_t *data;
} headrace_avro_column;

/* Counts (`fills` is 0) or fills the columns of some records. To be filled, columns have room for as
   much as was counted, or as the bytes can hold at most: texts and items are no more than there are
   bytes. `data` has room for 16 bytes more. Returns 0; -1: the bytes are not exactly that many records, or a text is not UTF-8. */
int64_t headrace_avro(const headrace_avro_op *record, const uint8_t *data, int64_t size,
                      int64_t records, headrace_avro_column *columns, int32_t fills);

#endif
