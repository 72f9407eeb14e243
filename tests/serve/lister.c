/* Lists the files of every table that it is given, in one process. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "headrace.h"

static bool print_file(const char *path, int64_t size) {
  return printf("%" PRId64 "\t%s\n", size, path) > 0;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    printf("table %s\n", argv[i]);
    if (delta_scan_lazy(argv[i], NULL, 0, print_file) < 0) {
      const char *error = headrace_last_error();
      printf("refused %.*s\n", (int)(strchr(error, ':') - error), error);
    }
  }
  return 0;
}
