/* Lists the files of a table: example TABLE [PREDICATE_JSON [LIMIT]] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "headrace.h"

static bool print_file(const char *path, int64_t size) {
  return printf("%" PRId64 "\t%s\n", size, path) > 0;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s TABLE [PREDICATE_JSON [LIMIT]]\n", argv[0]);
    return 2;
  }
  const char *predicate = argc > 2 && argv[2][0] ? argv[2] : NULL;
  size_t limit = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
  int32_t status = delta_scan_lazy(argv[1], predicate, limit, print_file);
  if (status < 0) fprintf(stderr, "%s\n", headrace_last_error());
  return status < 0 ? -status : 0;
}
