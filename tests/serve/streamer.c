/* Reads the stream of a request to its end, and prints how it ended. */
#include <stdio.h>
#include <string.h>

#include "arrow_stream.h"
#include "headrace.h"

int main(int argc, char **argv) {
  struct ArrowArrayStream stream;
  if (argc != 2 || headrace_open_stream(argv[1], &stream)) return 1;
  int status = 0;
  long batches = -1;
  struct ArrowArray array;
  do {
    status = stream.get_next(&stream, &array);
    batches++;
    if (status || !array.release) break;
    array.release(&array);
  } while (1);
  printf("%ld batches\n", batches);
  if (status) {
    const char *error = stream.get_last_error(&stream);
    printf("%s\n%s\n", headrace_last_error(), error ? error : "");
  }
  stream.release(&stream);
  return 0;
}
