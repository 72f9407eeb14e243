"""The closed set of plan nodes.

A node is a value: it says what leaves it, and an engine finds out how. Engines lower a plan
by a `match` over `Node` that ends in `assert_never`, so that a new node fails the type check
in each of them.
"""

from typing import TypeAlias

import msgspec

from headrace.expr.node import BoundPredicate
from headrace.plan.seen import FrozenSeen, RecordingSeen
from headrace.protocol.log_file import LogFile
from headrace.protocol.schema import StructType
from headrace.protocol.state import AddedAfter, ManifestInfo, Tombstones


class ListFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Lists a directory, not what is below it.

    Output: one `FileListing`, sorted by name, of the names at or after `start_from`.
    A directory that is not there is empty.
    """

    directory: str
    start_from: str = ""


class ListTree(msgspec.Struct, frozen=True, kw_only=True):
    """Lists a directory and everything below it.

    Output: one `FileListing`, sorted by path. A directory that is not there is empty.
    """

    directory: str


class ReadDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Reads a small file whole.

    Output: one `Document`; nothing where the file is not there.
    """

    path: str


class ScanJson(msgspec.Struct, frozen=True, kw_only=True):
    """Reads newline-delimited actions, file after file, in the order given.

    `columns` are actions, or dotted paths (`add.path`): fields of such an action that none of
    them names may be left out, whatever they hold. Output: action batches with these actions;
    a batch never spans files.
    """

    files: tuple[LogFile, ...]
    columns: tuple[str, ...]


class ScanParquet(msgspec.Struct, frozen=True, kw_only=True):
    """Reads actions from Parquet, file after file, in the order given.

    `columns` are dotted paths (`add.path`); what a file lacks is null. Output: action batches
    without the rows in which every one of the columns is null.
    """

    files: tuple[LogFile, ...]
    columns: tuple[str, ...]
    row_groups: tuple[int, ...] | None = None
    """Only these row groups, of a plan with one file; None: all of them."""


class ScanAvro(msgspec.Struct, frozen=True, kw_only=True):
    """Reads files of a state: the state itself, or its manifests.

    The column `state` gives each file's record as an action of that name. Other columns are those
    of adds (`add.path`), made of the entries of manifests. `manifests` has what the state says of
    each file; entries that are not there as it says are damage. Entries that tombstones hide are
    left out, and manifests and blocks that the predicate rules out by their bounds are not read:
    rows of others may remain, so `SkipFiles` follows. Output: action batches, in any order.
    """

    files: tuple[LogFile, ...]
    columns: tuple[str, ...]
    manifests: tuple[ManifestInfo, ...] = ()
    tombstones: Tombstones = Tombstones()
    predicate: BoundPredicate | None = None
    added_after: AddedAfter | None = None
    statistics_schema: StructType | None = None
    """Given where entries keep statistics as maps of texts: the columns that these are of."""


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """The batches of each input in turn; an input is not touched before those ahead of it end."""

    inputs: tuple["Node", ...]


class FirstOfEach(msgspec.Struct, frozen=True, kw_only=True):
    """Passes on the batches that have the first of an action, and stops when all have been met.

    An executor may pass on the batches between them too.
    """

    input: "Node"
    columns: tuple[str, ...]


class RecordSeen(msgspec.Struct, frozen=True, kw_only=True):
    """Keeps the adds whose key no earlier file of the input has, and records all keys.

    Order matters: the input must come newest first, and only one reader may fill the set.
    Output: batches of adds. Removes are recorded and dropped.
    """

    input: "Node"
    seen: RecordingSeen


class CollectKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Records the keys of all adds and removes, newest first, and gives nothing.

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
    """Drops the adds that are proven to hold no row for which the predicate is true.

    Unknown keeps a file: missing statistics, or a part that cannot be evaluated. Columns that
    `wanted` does not name may be left out after it: only the predicate needed them.
    """

    input: "Node"
    predicate: BoundPredicate
    wanted: tuple[str, ...] | None = None


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
