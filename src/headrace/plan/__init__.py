"""What is to be read, as data: declarative nodes, the batches they give, and the executor port.

Phases make plans, engines execute them; this room knows neither and reads nothing. What is
exported here is public: it is all that an executor of your own needs.
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
