"""Compiles the C library for the running Python.

A folder enters; `libheadrace`, `libdelta_lazy`, the header, the example and the sources of the C#
library are written to it. The library imports Headrace from where this Python found it.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from cffi import FFI, VerificationError
from cffi.pkgconfig import PkgConfigError

from headrace.errors import BuildFailedError

HERE = Path(__file__).parent
CSHARP = HERE.parent / "csharp"
NAMES = ("libheadrace", "libdelta_lazy")

_CDEF = """
typedef bool (*delta_file_callback)(const char *path, int64_t size);
struct headrace_file { ...; };
typedef bool (*headrace_file_callback)(const struct headrace_file *file, void *user_data);
typedef struct headrace_cancellation headrace_cancellation;
struct ArrowArrayStream;
static void headrace_set_error(const char *text);
static int headrace_is_cancelled(headrace_cancellation *cancellation);
static int headrace_emit_plain(delta_file_callback callback, int64_t rows,
    const int32_t *path_offsets, const char *paths, const int64_t *sizes);
static int headrace_emit_files(headrace_file_callback callback, void *user_data,
    headrace_cancellation *cancellation, int64_t rows, const int32_t *path_offsets,
    const char *paths, const int64_t *sizes, const int64_t *times, const int32_t *value_offsets,
    const char *values);
"""
_EXPORTED = """
int32_t headrace_python_scan_lazy(const char *, const char *, size_t, delta_file_callback);
int32_t headrace_python_scan(const char *, headrace_file_callback, void *, headrace_cancellation *);
int32_t headrace_python_open_stream(const char *, struct ArrowArrayStream *);
int32_t headrace_python_prepare_fork(void);
"""
_DECLARED = """
#include "headrace.h"
extern int32_t headrace_python_scan_lazy(const char *, const char *, size_t, delta_file_callback);
extern int32_t headrace_python_scan(const char *, headrace_file_callback, void *,
                                    headrace_cancellation *);
extern int32_t headrace_python_open_stream(const char *, struct ArrowArrayStream *);
extern int32_t headrace_python_prepare_fork(void);
"""
_START = """
import os, sys
first = os.environ.get("HEADRACE_PYTHONPATH", "").split(os.pathsep) + {paths!r}
sys.path[:] = [path for path in first if path] + [path for path in sys.path if path not in first]
from {module} import ffi, lib
from headrace.serve.cabi.embedded import register
register(ffi, lib)
"""


def build_library(folder: Path) -> list[Path]:
    """Compile the library, and copy the header, the example and the C# sources next to it.

    Raises:
        BuildFailedError: there is no compiler, no header, or no shared Python.
    """
    folder.mkdir(parents=True, exist_ok=True)
    builder = FFI()
    builder.cdef(_CDEF)
    builder.embedding_api(_EXPORTED)
    source = _DECLARED + (HERE / "library.c").read_text(encoding="utf-8")
    module = "_headrace_embedded"
    builder.set_source(
        module, source, include_dirs=[str(HERE)], libraries=["dl", "pthread"], py_limited_api=False
    )
    paths = [path for path in sys.path if path and Path(path).exists()]
    builder.embedding_init_code(_START.format(paths=paths, module=module))
    with tempfile.TemporaryDirectory(prefix="headrace-build-") as scratch:
        try:
            library = builder.compile(tmpdir=scratch, target=f"{NAMES[0]}.*")
        except (VerificationError, PkgConfigError, OSError) as error:
            raise BuildFailedError(reason=f"the library cannot be compiled: {error}") from error
        ending = Path(library).suffix
        libraries = [Path(shutil.copy(library, folder / f"{name}{ending}")) for name in NAMES]
    copies = [Path(shutil.copy(HERE / name, folder)) for name in ("headrace.h", "example.c")]
    sources = Path(shutil.copytree(CSHARP, folder / "csharp", dirs_exist_ok=True))
    return [*libraries, *copies, sources]
