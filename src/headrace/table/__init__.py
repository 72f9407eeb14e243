"""The public entry points: `Table` and `Snapshot`, and through them `Scan` and `LiveFile`.

An address enters; snapshots, scans, counts, history, changes and rows leave.
"""

from headrace.scan.lazy_imports import ArrowSchema, RecordBatchReader
from headrace.table.table import Snapshot, Table
from headrace.table.version import RowRequest

__all__ = ["ArrowSchema", "RecordBatchReader", "RowRequest", "Snapshot", "Table"]
