"""Read plans: declarative nodes, the batches they produce, and the executor interface.

Phases build plans and engines execute them; this package knows neither and does no I/O. Everything
exported here is public, and it is all that a custom executor needs.
"""

from headrace.plan.batch import ActionBatch, AddBatch, Batch, Document, FileListing, RowBatch
from headrace.plan.executor import Executor
from headrace.plan.explain import explain_plan
from headrace.plan.node import (
    Chain,
    CollectKeys,
    DropSeen,
    FirstOfEach,
    ListFiles,
    ListTree,
    Node,
    ReadDocument,
    RecordSeen,
    ScanAvro,
    ScanJson,
    ScanParquet,
    SkipFiles,
)

__all__ = [
    "ActionBatch",
    "AddBatch",
    "Batch",
    "Chain",
    "CollectKeys",
    "Document",
    "DropSeen",
    "Executor",
    "FileListing",
    "FirstOfEach",
    "ListFiles",
    "ListTree",
    "Node",
    "ReadDocument",
    "RecordSeen",
    "RowBatch",
    "ScanAvro",
    "ScanJson",
    "ScanParquet",
    "SkipFiles",
    "explain_plan",
]
