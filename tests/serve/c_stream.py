"""A host of the C library that stores streams as Arrow files: LIBRARY FOLDER REQUEST...

The stream of each request is written to its number in the folder, or the code of its error.
"""

import ctypes
import sys
from pathlib import Path

import pyarrow as pa

library = ctypes.CDLL(sys.argv[1])
library.headrace_last_error.restype = ctypes.c_char_p


def read(request: str) -> pa.Table | bytes:
    """Return what a request streams, or the code of the error."""
    stream = (ctypes.c_void_p * 5)()  # struct ArrowArrayStream: four functions and their data
    if library.headrace_open_stream(request.encode(), stream) == 0:
        try:
            return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()
        except OSError:
            pass
    code: bytes = library.headrace_last_error().partition(b":")[0]
    return code


for number, request in enumerate(sys.argv[3:]):
    target = Path(sys.argv[2], str(number))
    streamed = read(request)
    if isinstance(streamed, bytes):
        target.write_bytes(streamed)
    else:
        with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_stream(sink, streamed.schema) as out:
            out.write_table(streamed)
