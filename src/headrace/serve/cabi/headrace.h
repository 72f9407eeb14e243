/* Headrace: streams the live files of Delta tables as they are found.
 *
 * All strings are UTF-8 and null-terminated. Strings passed to a callback are valid only during
 * that call. Every function may be called from any thread, and from several concurrently. A
 * callback runs on the thread that started the scan, without holding a lock of the library, so it
 * may start further scans. The first call starts a Python interpreter, which takes about 100 ms.
 * A host may fork at any time, also while other threads scan; the child can scan, but not continue
 * the scans of its parent.
 */
#ifndef HEADRACE_H
#define HEADRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEADRACE_DONE 0             /* all files were passed to the callback, up to the limit */
#define HEADRACE_STOPPED 1          /* the callback returned false */
#define HEADRACE_ERROR_START (-1)   /* Python or Headrace could not be started */
#define HEADRACE_ERROR_REQUEST (-2) /* an argument, the predicate or an option is wrong */
#define HEADRACE_ERROR_TABLE (-3)   /* the table or version does not exist, or is not supported */
#define HEADRACE_ERROR_DAMAGE (-4)  /* the log or a data file is damaged */
#define HEADRACE_ERROR_STORAGE (-5) /* the store failed */
#define HEADRACE_ERROR_SETUP (-6)   /* a required package or tool is missing */
#define HEADRACE_CANCELLED (-7)     /* the scan was cancelled */
#define HEADRACE_ERROR_INTERNAL (-8) /* a bug in Headrace */

/* Called with the path or URI of a file and its size in bytes. Return false to stop the scan. */
typedef bool (*delta_file_callback)(const char *path, int64_t size);

/* Calls `callback` for each live file of a table, newest first.
 *
 * table_path:     a path, or a URI such as file:///data/events.
 * predicate_json: a predicate such as {"date": "2026-02-08"}, or NULL. Files that cannot contain
 *                 a matching row are pruned.
 * limit:          stop after this many files; 0 means all.
 */
int32_t delta_scan_lazy(const char *table_path, const char *predicate_json, size_t limit,
                        delta_file_callback callback);

/* Returns the error of this thread's last call as "CODE: message", or "" if it succeeded. The
 * string is valid until the thread's next call. */
const char *headrace_last_error(void);
const char *delta_last_error(void);

/* A file with its modification time and partition values. */
struct headrace_file {
  const char *path;
  int64_t size_bytes;
  int64_t modified_ms;          /* milliseconds since 1970 */
  const char *partition_values; /* a JSON object whose values are strings or null */
};

/* Called with a file and the `user_data` of headrace_scan. Return false to stop the scan. */
typedef bool (*headrace_file_callback)(const struct headrace_file *file, void *user_data);

/* Lets a scan be cancelled from another thread. */
typedef struct headrace_cancellation headrace_cancellation;
headrace_cancellation *headrace_cancellation_new(void);
void headrace_cancellation_request(headrace_cancellation *cancellation);
void headrace_cancellation_free(headrace_cancellation *cancellation);

/* Like delta_scan_lazy, for a request in the wire format with all its options: {"table":
 * "/data/events", "where": "date >= '2026-02-01'", "version": 5, "strategy": "forward"}.
 * `cancellation` may be NULL; it must stay valid until the call returns. */
int32_t headrace_scan(const char *request_json, headrace_file_callback callback, void *user_data,
                      headrace_cancellation *cancellation);

/* Opens the files of a request, or with "kind": "rows" its rows, as an Arrow C stream. The caller
 * must release the stream, which stops the scan. If its get_next fails, headrace_last_error returns
 * the error, and so does the stream's get_last_error, with words of Arrow before and after it. */
struct ArrowArrayStream;
int32_t headrace_open_stream(const char *request_json, struct ArrowArrayStream *out);

#ifdef __cplusplus
}
#endif
#endif
