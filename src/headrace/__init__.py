"""Headrace streams the live files of huge Delta tables, newest first, in bounded memory.

import headrace

snapshot = headrace.Table("/data/events").snapshot()
for file in snapshot.scan(where="date >= '2026-03-01'", limit=100):
    print(file.uri, file.size_bytes)
"""

from headrace.errors import HeadraceError
from headrace.scan.live_file import LiveFile
from headrace.scan.options import ScanOptions
from headrace.scan.scan import Scan
from headrace.serve.wiring import connect
from headrace.table import Snapshot, Table
from headrace.wiring import use_lean_memory

__version__ = "0.1.0"

__all__ = [
    "HeadraceError",
    "LiveFile",
    "Scan",
    "ScanOptions",
    "Snapshot",
    "Table",
    "__version__",
    "connect",
    "use_lean_memory",
]
