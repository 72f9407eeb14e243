/* The C part of the library: the exported functions, and the loop that calls the host back.
 *
 * Python passes whole batches of files; the loop passes them to the host one by one, without
 * holding the GIL. cffi compiles this file after its own preamble, which includes Python.h.
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
  headrace_cancellation *cancellation = malloc(sizeof *cancellation);
  if (cancellation) atomic_init(&cancellation->requested, 0);
  return cancellation;
}

EXPORT void headrace_cancellation_request(headrace_cancellation *cancellation) {
  if (cancellation) atomic_store(&cancellation->requested, 1);
}

EXPORT void headrace_cancellation_free(headrace_cancellation *cancellation) { free(cancellation); }

static int headrace_is_cancelled(headrace_cancellation *cancellation) {
  return cancellation && atomic_load(&cancellation->requested);
}

/* Copies a row of an Arrow string column into `scratch` as a null-terminated string. Returns NULL
 * if there is no memory. */
static const char *text_at(char **scratch, size_t *room, const int32_t *offsets, const char *bytes,
                           int64_t row) {
  size_t size = (size_t)(offsets[row + 1] - offsets[row]);
  if (size + 1 > *room) {
    size_t capacity = 2 * (size + 1);
    char *grown = realloc(*scratch, capacity);
    if (!grown) return NULL;
    *scratch = grown;
    *room = capacity;
  }
  memcpy(*scratch, bytes + offsets[row], size);
  (*scratch)[size] = 0;
  return *scratch;
}

/* How emitting a batch ended; `embedded.py` knows these numbers. */
enum { ALL_EMITTED = 0, CALLBACK_STOPPED = 1, SCAN_CANCELLED = 2, NO_MEMORY = 3 };

static int headrace_emit_plain(delta_file_callback callback, int64_t rows,
                               const int32_t *path_offsets, const char *paths,
                               const int64_t *sizes) {
  char *scratch = NULL;
  size_t room = 0;
  int ending = ALL_EMITTED;
  for (int64_t row = 0; row < rows && ending == ALL_EMITTED; row++) {
    const char *path = text_at(&scratch, &room, path_offsets, paths, row);
    if (!path)
      ending = NO_MEMORY;
    else if (!callback(path, sizes[row]))
      ending = CALLBACK_STOPPED;
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
  int ending = ALL_EMITTED;
  for (int64_t row = 0; row < rows && ending == ALL_EMITTED; row++) {
    struct headrace_file file = {
        .path = text_at(&path_scratch, &path_room, path_offsets, paths, row),
        .size_bytes = sizes[row],
        .modified_ms = times[row],
        .partition_values = text_at(&value_scratch, &value_room, value_offsets, values, row)};
    if (!file.path || !file.partition_values)
      ending = NO_MEMORY;
    else if (headrace_is_cancelled(cancellation))
      ending = SCAN_CANCELLED;
    else if (!callback(&file, user_data))
      ending = CALLBACK_STOPPED;
  }
  free(path_scratch);
  free(value_scratch);
  return ending;
}

/* If the host forks, Python must be notified: otherwise the child would wait forever for locks
 * whose owners do not exist in it. A fork also waits for a thread that is starting Python, since
 * the child could not finish its start. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_started;
static _Thread_local int is_starting;
static _Thread_local int is_locked, is_notified;
static _Thread_local PyGILState_STATE forking;

static void before_fork(void) {
  if (is_starting || (Py_IsInitialized() && PyGILState_Check())) return; /* Python forks itself */
  is_locked = 1;
  pthread_mutex_lock(&starting);
  is_notified = Py_IsInitialized();
  if (is_notified) {
    if (atomic_load(&is_started)) headrace_python_prepare_fork();
    forking = PyGILState_Ensure();
    PyOS_BeforeFork();
  }
}

static void after_fork_in_parent(void) {
  if (!is_locked) return;
  if (is_notified) {
    PyOS_AfterFork_Parent();
    PyGILState_Release(forking);
  }
  is_locked = 0;
  pthread_mutex_unlock(&starting);
}

static void after_fork_in_child(void) {
  if (!is_locked) return;
  if (is_notified) {
    PyOS_AfterFork_Child();
    /* This thread's state is the child's only one. PyGILState_Release might delete it, and Python
     * 3.11 could not create another. */
    PyEval_SaveThread();
  }
  is_locked = 0;
  pthread_mutex_init(&starting, NULL);
}

static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Some hosts load libraries with RTLD_LOCAL, which hides the symbols of libpython from Python's
 * extension modules. Make them global. */
__attribute__((constructor)) static void share_python(void) {
  Dl_info found;
  if (dladdr((void *)&Py_IsInitialized, &found) && found.dli_fname)
    dlopen(found.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/* Python returns a status plus this number, since cffi returns 0 if Python could not be started. */
#define BASE 1000

static int32_t status_of(int32_t result) {
  if (result == 0) {
    headrace_set_error("START: Python or Headrace could not be started");
    return HEADRACE_ERROR_START;
  }
  return result - BASE;
}

/* Starts Python and imports Headrace; the first call does so, and others wait for it. */
static void start_python(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (atomic_load(&is_started)) return;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&starting);
  is_starting = 1;
  cffi_start_python(); /* if it fails, the call that follows returns 0 */
  is_starting = 0;
  atomic_store(&is_started, 1);
  pthread_mutex_unlock(&starting);
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
  start_python();
  return status_of(headrace_python_scan_lazy(table_path, predicate_json, limit, callback));
}

EXPORT int32_t headrace_scan(const char *request_json, headrace_file_callback callback,
                             void *user_data, headrace_cancellation *cancellation) {
  last_error[0] = 0;
  if (!request_json) return refuse("INVALID_ARGUMENT: request_json is NULL");
  if (!callback) return refuse("INVALID_ARGUMENT: callback is NULL");
  start_python();
  return status_of(headrace_python_scan(request_json, callback, user_data, cancellation));
}

EXPORT int32_t headrace_open_stream(const char *request_json, struct ArrowArrayStream *out) {
  last_error[0] = 0;
  if (!request_json) return refuse("INVALID_ARGUMENT: request_json is NULL");
  if (!out) return refuse("INVALID_ARGUMENT: out is NULL");
  start_python();
  return status_of(headrace_python_open_stream(request_json, out));
}
