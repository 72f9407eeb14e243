/* The loops that are worth compiling. All of them are pure: they read and write only what they are
   given, keep nothing, and check every bound, since their input comes from files. Whatever is
   unusual they leave to the caller, who has a slower way that knows everything. */
#ifndef HEADRACE_KERNELS_H
#define HEADRACE_KERNELS_H

#include <stdint.h>

/* Raised whenever a signature changes, here and in library.py: neither then calls an older one. */
#define HEADRACE_ABI 1

int32_t headrace_abi(void);

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
int32_t headrace_leaves(
    const uint8_t *validity, const int32_t *offsets, const uint8_t *data, int64_t data_size,
    int64_t first, int64_t rows, const headrace_node *nodes, int32_t node_count);

#endif
