"""A custom executor: Headrace on a log that is kept in memory.

An executor answers plans; it never makes decisions about Delta. This one keeps the files of a log
in a dictionary and needs no Arrow. It supports neither Parquet nor Avro, so it refuses checkpoints
and states in these formats. It does not evaluate predicates: keeping every file is always allowed.

Run it: `python examples/memory_executor.py`
"""

from collections.abc import Iterator, Mapping
from itertools import compress
from types import SimpleNamespace
from typing import Any, assert_never

import msgspec

import headrace
from headrace.errors import (
    CorruptCheckpointError,
    CorruptLogError,
    CorruptStateError,
    ObjectNotFoundError,
)
from headrace.plan import (
    ActionBatch,
    AddBatch,
    Batch,
    Chain,
    CollectKeys,
    Document,
    DropSeen,
    Executor,
    FileListing,
    FirstOfEach,
    ListFiles,
    ListTree,
    Node,
    ReadDocument,
    RecordSeen,
    RowBatch,
    ScanAvro,
    ScanJson,
    ScanParquet,
    SkipFiles,
)
from headrace.plan.seen import RecordingSeen
from headrace.protocol.action import ACTION_TYPES
from headrace.protocol.key import key_of
from headrace.protocol.log_file import LogFile


class MemoryExecutor(Executor):
    """Answers plans from a mapping of paths to bytes, and records the plans."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.asked: list[Node] = []

    def execute(self, plan: Node) -> Iterator[Batch]:  # noqa: C901, PLR0912  (one case a node)
        """Execute one plan."""
        self.asked.append(plan)
        match plan:
            case ListFiles(directory=directory, start_from=start):
                first = f"{directory}/{start}"
                names = [n for n in self.files if n.startswith(f"{directory}/") and n >= first]
                yield FileListing(
                    tuple(LogFile(path=n, size_bytes=len(self.files[n])) for n in sorted(names))
                )
            case ListTree(directory=directory):
                yield from self.execute(ListFiles(directory=directory))
            case ReadDocument(path=path):
                if path in self.files:
                    yield Document(path, self.files[path])
            case ScanJson(files=files, columns=columns):
                for file in files:
                    yield self._scan_json(file, columns)
            case ScanParquet(files=files):
                for file in files:
                    raise CorruptCheckpointError(path=file.path, reason="no Parquet in here")
            case ScanAvro(files=files):
                for file in files:
                    raise CorruptStateError(path=file.path, reason="no Avro in here")
            case Chain(inputs=inputs):
                for part in inputs:
                    yield from self.execute(part)
            case FirstOfEach(input=source, columns=columns):
                missing = set(columns)
                for batch in self._actions(source):
                    yield batch
                    missing -= {name for name in missing if batch.actions(name)}
                    if not missing:
                        return
            case RecordSeen(input=source, seen=recording):
                for batch in self._actions(source):
                    yield _record(batch, recording)
            case CollectKeys(input=source, seen=recording):
                for _ in self.execute(RecordSeen(input=source, seen=recording)):
                    pass
            case DropSeen(input=source, seen=frozen):
                for batch in self._actions(source):
                    adds = [add for add in batch.actions("add") if key_of(add) not in frozen]
                    yield AddBatch(batch.source, adds)
            case SkipFiles(input=source):
                yield from self.execute(source)
            case _:
                assert_never(plan)

    def _scan_json(self, file: LogFile, columns: tuple[str, ...]) -> RowBatch:
        if file.path not in self.files:
            raise ObjectNotFoundError(path=file.path)
        actions = {column.partition(".")[0] for column in columns}
        rows = []
        for number, line in enumerate(self.files[file.path].splitlines(), start=1):
            try:
                action = msgspec.json.decode(line, type=dict[str, Any])
                requested = [name for name in actions if name in action]
                decoded = {n: msgspec.convert(action[n], ACTION_TYPES[n]) for n in requested}
            except msgspec.MsgspecError as error:
                raise CorruptLogError(path=file.path, line=number, reason=str(error)) from error
            rows.append(SimpleNamespace(**decoded))
        return RowBatch(file, rows)

    def _actions(self, plan: Node) -> Iterator[ActionBatch]:
        for batch in self.execute(plan):
            assert isinstance(batch, ActionBatch)
            yield batch


def _record(batch: ActionBatch, seen: RecordingSeen) -> AddBatch:
    adds = batch.actions("add")
    try:
        fresh = seen.admit(batch.source.path, adds=adds, removes=batch.actions("remove"))
    except ValueError as error:
        raise CorruptLogError(path=batch.source.path, line=None, reason=str(error)) from error
    return AddBatch(batch.source, list(compress(adds, fresh)))


def two_commits() -> dict[str, bytes]:
    """Return a log of two commits: two files are added, then one of them is replaced."""
    commits = [
        [
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
            {"metaData": {"id": "demo", "partitionColumns": [], "configuration": {}}},
            {"add": {"path": "a.parquet", "partitionValues": {}, "size": 10}},
            {"add": {"path": "b.parquet", "partitionValues": {}, "size": 20}},
        ],
        [
            {"remove": {"path": "b.parquet"}},
            {"add": {"path": "c.parquet", "partitionValues": {}, "size": 30}},
        ],
    ]
    return {
        f"_delta_log/{version:020}.json": b"\n".join(map(msgspec.json.encode, actions))
        for version, actions in enumerate(commits)
    }


if __name__ == "__main__":
    executor = MemoryExecutor(two_commits())
    table = headrace.Table("/nowhere/at/all", executor=executor)
    for live in table.snapshot().scan():
        print(live.version, live.path, live.size_bytes)
