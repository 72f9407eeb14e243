/* The part of the library that is C: what the host calls, and the loop that calls the host.
 *
 * Python gives a whole batch of files at once; this loop hands them out one by one, without the
 * interpreter's lock. cffi includes this text after its own, so Python.h is there.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct headrace_cancellation {
  atomic_int requested;
};

static _Thread_local char last_error[4096];

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *headrace_last_error(void) { return last_error; }
EXPORT const char *delta_last_error(void) { return last_error; }

static void headrace_set_error(const char *text) {
  snprintf(last_error, sizeof last_error, "%s", text);
}

EXPORT headrace_cancellation *headrace_cancellation_new(void) {
  headrace_cancellation *made = malloc(sizeof *made);
  if (made) atomic_init(&made->requested, 0);
  return made;
}

EXPORT void headrace_cancellation_request(headrace_cancellation *cancellation) {
  if (cancellation) atomic_store(&cancellation->requested, 1);
}

EXPORT void headrace_cancellation_free(headrace_cancellation *cancellation) { free(cancellation); }

static int headrace_is_cancelled(headrace_cancellation *cancellation) {
  return cancellation && atomic_load(&cancellation->requested);
}

/* A text column of Arrow: offsets and bytes. */
static const char *text_at(char **scratch, size_t *room, const int32_t *offsets, const char *bytes,
                           int64_t row) {
  size_t size = (size_t)(offsets[row + 1] - offsets[row]);
  if (size + 1 > *room) {
    size_t wanted = 2 * (size + 1);
    char *grown = realloc(*scratch, wanted);
    if (!grown) return NULL;
    *scratch = grown;
    *room = wanted;
  }
  memcpy(*scratch, bytes + offsets[row], size);
  (*scratch)[size] = 0;
  return *scratch;
}

/* How a batch was taken: to its end, stopped, cancelled, or without memory. */
enum { TAKEN = 0, REFUSED = 1, CALLED_OFF = 2, NO_MEMORY = 3 };

static int headrace_emit_plain(delta_file_callback callback, int64_t rows,
                               const int32_t *path_offsets, const char *paths,
                               const int64_t *sizes) {
  char *scratch = NULL;
  size_t room = 0;
  int ending = TAKEN;
  for (int64_t row = 0; row < rows && ending == TAKEN; row++) {
    const char *path = text_at(&scratch, &room, path_offsets, paths, row);
    if (!path)
      ending = NO_MEMORY;
    else if (!callback(path, sizes[row]))
      ending = REFUSED;
  }
  free(scratch);
  return ending;
}

static int headrace_emit_files(headrace_file_callback callback, void *user_data,
                               headrace_cancellation *cancellation, int64_t rows,
                               const int32_t *path_offsets, const char *paths,
                               const int64_t *sizes, const int64_t *times,
                               const int32_t *value_offsets, const char *values) {
  char *path_scratch = NULL, *value_scratch = NULL;
  size_t path_room = 0, value_room = 0;
  int ending = TAKEN;
  for (int64_t row = 0; row < rows && ending == TAKEN; row++) {
    struct headrace_file file = {
        .path = text_at(&path_scratch, &path_room, path_offsets, paths, row),
        .size_bytes = sizes[row],
        .modified_ms = times[row],
        .partition_values = text_at(&value_scratch, &value_room, value_offsets, values, row)};
    if (!file.path || !file.partition_values)
      ending = NO_MEMORY;
    else if (headrace_is_cancelled(cancellation))
      ending = CALLED_OFF;
    else if (!callback(&file, user_data))
      ending = REFUSED;
  }
  free(path_scratch);
  free(value_scratch);
  return ending;
}

/* A host that forks: Python must know of it, or a child would wait for locks that nobody holds. */
static _Thread_local PyGILState_STATE forking;
static _Thread_local int is_forking;

static void before_fork(void) {
  is_forking = Py_IsInitialized() && !PyGILState_Check();
  if (is_forking) {
    forking = PyGILState_Ensure();
    PyOS_BeforeFork();
  }
}

static void after_fork_in_parent(void) {
  if (is_forking) {
    PyOS_AfterFork_Parent();
    PyGILState_Release(forking);
    is_forking = 0;
  }
}

static void after_fork_in_child(void) {
  if (is_forking) {
    PyOS_AfterFork_Child();
    PyGILState_Release(forking);
    is_forking = 0;
  }
}

static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Some hosts load libraries so that others do not see their symbols; Python's own modules must
 * see those of libpython. */
__attribute__((constructor)) static void share_python(void) {
  Dl_info found;
  if (dladdr((void *)&Py_IsInitialized, &found) && found.dli_fname)
    dlopen(found.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/* Python answers with a status plus this number: cffi answers 0 where Python did not start. */
#define BASE 1000

static int32_t status_of(int32_t answer) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (answer == 0) {
    headrace_set_error("START: Python, or Headrace in it, could not be started");
    return HEADRACE_ERROR_START;
  }
  pthread_once(&once, watch_forks);
  return answer - BASE;
}

static int32_t refuse(const char *text) {
  headrace_set_error(text);
  return HEADRACE_ERROR_REQUEST;
}

EXPORT int32_t delta_scan_lazy(const char *table_path, const char *predicate_json, size_t limit,
                               delta_file_callback callback) {
  last_error[0] = 0;
  if (!table_path) return refuse("INVALID_ARGUMENT: table_path is NULL");
  if (!callback) return refuse("INVALID_ARGUMENT: callback is NULL");
  return status_of(headrace_python_scan_lazy(table_path, predicate_json, limit, callback));
}

EXPORT int32_t headrace_scan(const char *request_json, headrace_file_callback callback,
                             void *user_data, headrace_cancellation *cancellation) {
  last_error[0] = 0;
  if (!request_json) return refuse("INVALID_ARGUMENT: request_json is NULL");
  if (!callback) return refuse("INVALID_ARGUMENT: callback is NULL");
  return status_of(headrace_python_scan(request_json, callback, user_data, cancellation));
}

EXPORT int32_t headrace_open_stream(const char *request_json, struct ArrowArrayStream *out) {
  last_error[0] = 0;
  if (!request_json) return refuse("INVALID_ARGUMENT: request_json is NULL");
  if (!out) return refuse("INVALID_ARGUMENT: out is NULL");
  return status_of(headrace_python_open_stream(request_json, out));
}
