"""The closed set of plan nodes.

A node is a value: it defines its output, and the engine decides how to produce it. Engines lower a
plan with a `match` over `Node` that ends in `assert_never`, so that a new node fails the type
check in every engine.
"""

import warnings
from typing import TypeAlias

import msgspec

from headrace.expr.node import BoundPredicate
from headrace.plan.seen import FrozenSeen, RecordingSeen
from headrace.protocol.log_file import LogFile
from headrace.protocol.schema import StructType
from headrace.protocol.state import AddedAfter, ManifestInfo, Tombstones


class ListFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Lists the files of a directory, without its subdirectories.

    Output: one `FileListing`, sorted by name, of the names at or after `start_from`.
    A directory that does not exist is empty.
    """

    directory: str
    start_from: str = ""


class ListTree(msgspec.Struct, frozen=True, kw_only=True):
    """Lists a directory and everything below it.

    Output: one `FileListing`, sorted by path. A directory that does not exist is empty.
    """

    directory: str


class ReadDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Reads a whole small file.

    Output: one `Document`, or nothing if the file does not exist.
    """

    path: str


class ScanJson(msgspec.Struct, frozen=True, kw_only=True):
    """Reads newline-delimited actions, file after file, in the order given.

    `columns` are actions or dotted paths (`add.path`). If an action is named by dotted paths, its
    other fields may be omitted, whatever they contain. Output: action batches with these actions;
    a batch never spans files.
    """

    files: tuple[LogFile, ...]
    columns: tuple[str, ...]


class ScanParquet(msgspec.Struct, frozen=True, kw_only=True):
    """Reads actions from Parquet, file after file, in the order given.

    `columns` are dotted paths (`add.path`); columns that a file lacks are null. Output: action
    batches without the rows in which all of the columns are null.
    """

    files: tuple[LogFile, ...]
    columns: tuple[str, ...]
    """Without columns it reads only footers, so an engine that expects it reads no more ahead."""
    row_groups: tuple[int, ...] | None = None
    """The row groups to read, in a plan with one file; None: all of them."""


class ScanAvro(msgspec.Struct, frozen=True, kw_only=True):
    """Reads files of a state: the state itself, or its manifests.

    The column `state` returns each file's record as an action of that name. Other columns are
    those of adds (`add.path`), built from manifest entries. `manifests` has the state's
    description of each file; a file whose entries do not match it is corrupt. Entries hidden by
    tombstones are omitted. Manifests and blocks whose bounds the predicate excludes are not read;
    rows that do not match may remain, so `SkipFiles` follows. Output: action batches, in any order.
    """

    files: tuple[LogFile, ...]
    columns: tuple[str, ...]
    manifests: tuple[ManifestInfo, ...] = ()
    tombstones: Tombstones = Tombstones()
    predicate: BoundPredicate | None = None
    added_after: AddedAfter | None = None
    statistics_schema: StructType | None = None
    """The columns of the statistics; set if entries store statistics as maps of text."""
    held_bytes: int = 0
    """If the manifests are not larger than this in total, all are checked before the first entry
    is emitted, so that damage can still be answered by another plan."""


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """Concatenates its inputs; an input is not read before the previous ones are exhausted."""

    inputs: tuple["Node", ...]


class FirstOfEach(msgspec.Struct, frozen=True, kw_only=True):
    """Keeps the batches with the first action of each kind in `columns`, then stops.

    Executors may also pass on the batches in between.
    """

    input: "Node"
    columns: tuple[str, ...]


class RecordSeen(msgspec.Struct, frozen=True, kw_only=True):
    """Keeps the adds whose key no earlier file of the input has, and records all keys.

    Order matters: the input must be newest first, and only one reader may fill the set.
    Output: batches of adds. Removes are recorded and dropped.
    """

    input: "Node"
    seen: RecordingSeen


class CollectKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Records the keys of all adds and removes, newest first.

    Output: none.
    """

    input: "Node"
    seen: RecordingSeen


class DropSeen(msgspec.Struct, frozen=True, kw_only=True):
    """Keeps the adds whose key is not in a frozen set. Order does not matter.

    Output: batches of adds.
    """

    input: "Node"
    seen: FrozenSeen


class SkipFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Drops the adds that provably have no row for which the predicate is true.

    A file is kept if the answer is unknown, because statistics are missing or a part of the
    predicate cannot be evaluated. Columns that are not in `output_columns` may be omitted from the
    output: only the predicate needs them.
    """

    input: "Node"
    predicate: BoundPredicate
    output_columns: tuple[str, ...] | None = None
    """The columns of the output; None: all columns of the input."""

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """The former name of `output_columns`."""
        warnings.warn("use `output_columns` instead of `wanted`", DeprecationWarning, stacklevel=2)
        return self.output_columns


Node: TypeAlias = (
    ListFiles
    | ListTree
    | ReadDocument
    | ScanJson
    | ScanParquet
    | ScanAvro
    | Chain
    | FirstOfEach
    | RecordSeen
    | CollectKeys
    | DropSeen
    | SkipFiles
)
