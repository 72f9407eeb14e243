/* A host of the library that does everything a host may do, and says what it saw. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arrow_stream.h"
#include "headrace.h"

static const char *table;
static _Thread_local long count;
static _Thread_local long stop_at;
static headrace_cancellation *cancellation;

static bool count_file(const char *path, int64_t size) {
  (void)path;
  (void)size;
  return ++count != stop_at;
}

static long scan(const char *predicate, size_t limit) {
  count = 0;
  int32_t status = delta_scan_lazy(table, predicate, limit, count_file);
  return status < 0 ? status : count;
}

static void *scan_in_thread(void *result) {
  for (int i = 0; i < 5; i++) *(long *)result = scan(NULL, 0);
  return NULL;
}

static bool nested(const char *path, int64_t size) {
  (void)path;
  (void)size;
  long outer = count;
  long inner = scan(NULL, 2);
  count = outer + (inner == 2);
  return true;
}

static bool take(const struct headrace_file *file, void *user_data) {
  if (!*(char *)user_data) strncpy(user_data, file->partition_values, 200);
  count += file->modified_ms > 0 && file->size_bytes > 0 && strlen(file->path) > 0;
  return true;
}

static bool cancel_after_two(const struct headrace_file *file, void *user_data) {
  (void)file;
  (void)user_data;
  if (++count == 2) headrace_cancellation_request(cancellation);
  return true;
}

static long stream_rows(const char *request) {
  struct ArrowArrayStream stream;
  int32_t status = headrace_open_stream(request, &stream);
  if (status) return status;
  long rows = 0;
  for (;;) {
    struct ArrowArray array;
    if (stream.get_next(&stream, &array)) return -100;
    if (!array.release) break;
    rows += array.length;
    array.release(&array);
  }
  stream.release(&stream);
  return rows;
}

int main(int argc, char **argv) {
  (void)argc;
  table = argv[1];
  char request[4096], values[256] = "";
  printf("all %ld\n", scan(NULL, 0));
  printf("again %ld\n", scan("{}", 0));
  printf("limit %ld\n", scan(NULL, 7));
  printf("predicate %ld\n", scan("{\"city\": \"Bern\"}", 0));
  stop_at = 5;
  count = 0;
  int32_t stopped = delta_scan_lazy(table, NULL, 0, count_file);
  printf("stopped %d after %ld\n", stopped, count);
  stop_at = 0;
  printf("missing %d %.15s\n", delta_scan_lazy("/nowhere", NULL, 0, count_file),
         headrace_last_error());
  printf("predicate %d %.17s\n", delta_scan_lazy(table, "{bad", 0, count_file),
         headrace_last_error());
  printf("column %d %.14s\n", delta_scan_lazy(table, "{\"x\": 1}", 0, count_file),
         delta_last_error());
  printf("null %d\n", delta_scan_lazy(NULL, NULL, 0, count_file));
  printf("utf8 %d\n", delta_scan_lazy("\xff\xfe", NULL, 0, count_file));
  printf("largest limit %ld, larger %ld\n", scan(NULL, SIZE_MAX >> 1), scan(NULL, SIZE_MAX));

  long results[4] = {0};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(threads + i, NULL, scan_in_thread, results + i);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  printf("threads %ld %ld %ld %ld\n", results[0], results[1], results[2], results[3]);

  count = 0;
  delta_scan_lazy(table, NULL, 3, nested);
  printf("nested %ld\n", count);

  snprintf(request, sizeof request, "{\"table\": \"%s\", \"where\": \"city = 'Bern'\"}", table);
  count = 0;
  int32_t status = headrace_scan(request, take, values, NULL);
  printf("files %d %ld %s\n", status, count, values);
  cancellation = headrace_cancellation_new();
  count = 0;
  status = headrace_scan(request, cancel_after_two, values, cancellation);
  printf("cancelled %d after %ld\n", status, count);
  headrace_cancellation_free(cancellation);

  snprintf(request, sizeof request, "{\"table\": \"%s\"}", table);
  printf("stream of files %ld\n", stream_rows(request));
  snprintf(request, sizeof request, "{\"table\": \"%s\", \"kind\": \"rows\", \"limit\": 30}", table);
  printf("stream of rows %ld\n", stream_rows(request));
  fflush(stdout);

  pid_t child = fork();
  if (!child) {
    printf("child %ld\n", scan(NULL, 0));
    fflush(stdout);
    _exit(0);
  }
  int ended = 0;
  waitpid(child, &ended, 0);
  printf("child ended %d\nafter %ld\n", ended, scan(NULL, 0));
  return 0;
}
