/* Headrace: the live files of Delta tables, streamed as they are found.
 *
 * All texts are UTF-8 and end with a zero byte. Texts that a callback gets are valid during that
 * call only. Every function may be called from any thread, also from several at once. A callback
 * runs on the thread that started the scan, and holds no lock of the library: it may start scans
 * of its own. The first call starts a Python interpreter, which takes 100 ms or so.
 */
#ifndef HEADRACE_H
#define HEADRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEADRACE_DONE 0             /* all files were given, or as many as the limit allows */
#define HEADRACE_STOPPED 1          /* the callback returned false */
#define HEADRACE_ERROR_START (-1)   /* Python, or Headrace in it, could not be started */
#define HEADRACE_ERROR_REQUEST (-2) /* an argument, the predicate or an option is wrong */
#define HEADRACE_ERROR_TABLE (-3)   /* there is no such table or version, or it is unsupported */
#define HEADRACE_ERROR_DAMAGE (-4)  /* the log, or a data file, is damaged */
#define HEADRACE_ERROR_STORAGE (-5) /* the store failed */
#define HEADRACE_ERROR_SETUP (-6)   /* this machine lacks something */
#define HEADRACE_CANCELLED (-7)     /* the scan was cancelled */
#define HEADRACE_ERROR_INTERNAL (-8) /* a fault of Headrace */

/* Takes a file: where it is, and its size in bytes. Returns false to stop the scan. */
typedef bool (*delta_file_callback)(const char *path, int64_t size);

/* Give the live files of a table, newest first, to a callback.
 *
 * table_path:     a path, or an address such as file:///data/events.
 * predicate_json: a predicate such as {"date": "2026-02-08"}, or NULL. Files that cannot hold a
 *                 matching row are left out.
 * limit:          stop after this many files; 0 means all.
 */
int32_t delta_scan_lazy(const char *table_path, const char *predicate_json, size_t limit,
                        delta_file_callback callback);

/* What went wrong in this thread's last call: a code, a colon and a text, or "". Valid until the
 * next call of this thread. */
const char *headrace_last_error(void);
const char *delta_last_error(void);

/* A file with its modification time and partition values. */
struct headrace_file {
  const char *path;
  int64_t size_bytes;
  int64_t modified_ms;          /* milliseconds since 1970 */
  const char *partition_values; /* a JSON object of texts and nulls */
};

/* Takes a file and what the caller gave to headrace_scan. Returns false to stop the scan. */
typedef bool (*headrace_file_callback)(const struct headrace_file *file, void *user_data);

/* Lets a scan be cancelled from another thread. */
typedef struct headrace_cancellation headrace_cancellation;
headrace_cancellation *headrace_cancellation_new(void);
void headrace_cancellation_request(headrace_cancellation *cancellation);
void headrace_cancellation_free(headrace_cancellation *cancellation);

/* The same for a request in the wire form, with its options: {"table": "/data/events",
 * "where": "date >= '2026-02-01'", "version": 5, "strategy": "forward"}. `cancellation` may be
 * NULL; it must stay valid until the call returns. */
int32_t headrace_scan(const char *request_json, headrace_file_callback callback, void *user_data,
                      headrace_cancellation *cancellation);

/* The files, or with "kind": "rows" the rows, of a request as an Arrow stream. The caller releases
 * the stream, which stops the scan. See the Arrow C stream interface. */
struct ArrowArrayStream;
int32_t headrace_open_stream(const char *request_json, struct ArrowArrayStream *out);

#ifdef __cplusplus
}
#endif
#endif
