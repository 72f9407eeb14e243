"""Format plans as human-readable text."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from headrace.metrics.counts import counted
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
from headrace.protocol.log_file import LogFile

_SHOWN = 3


def explain_plan(plan: Node) -> str:
    """Format a plan as an indented tree, one node per line, with inputs below their node."""
    return "\n".join(_lines(plan, 0))


def _lines(node: Node, depth: int) -> Iterator[str]:
    yield "  " * depth + _head(node)
    for child in _inputs(node):
        yield from _lines(child, depth + 1)


def _head(node: Node) -> str:  # noqa: C901  (one case a node)
    match node:
        case ListFiles(directory=directory, start_from=start):
            return f"ListFiles {directory}" + (f" from {start}" if start else "")
        case ListTree(directory=directory):
            return f"ListTree {directory}"
        case ReadDocument(path=path):
            return f"ReadDocument {path}"
        case ScanJson(files=files, columns=columns) | ScanParquet(files=files, columns=columns):
            return f"{type(node).__name__} {_files(files)} [{', '.join(columns)}]{_groups(node)}"
        case ScanAvro(files=files, columns=columns, tombstones=tombstones):
            hidden = f" less {counted(len(tombstones), 'tombstone')}" if tombstones else ""
            return f"ScanAvro {_files(files)} [{', '.join(columns)}]{hidden}"
        case Chain():
            return "Chain"
        case FirstOfEach(columns=columns):
            return f"FirstOfEach {', '.join(columns)}"
        case RecordSeen(seen=recording) | CollectKeys(seen=recording):
            return f"{type(node).__name__} ({len(recording)} keys)"
        case DropSeen(seen=frozen):
            return f"DropSeen ({len(frozen)} keys)"
        case SkipFiles(predicate=predicate):
            return f"SkipFiles where {predicate}"
        case _:
            assert_never(node)


def _inputs(node: Node) -> Sequence[Node]:
    match node:
        case Chain(inputs=inputs):
            return inputs
        case FirstOfEach() | RecordSeen() | CollectKeys() | DropSeen() | SkipFiles():
            return (node.input,)
        case ListFiles() | ListTree() | ReadDocument() | ScanJson() | ScanParquet() | ScanAvro():
            return ()
        case _:
            assert_never(node)


def _groups(scan: ScanJson | ScanParquet) -> str:
    if isinstance(scan, ScanJson) or scan.row_groups is None:
        return ""
    return f" row groups {', '.join(map(str, scan.row_groups))}"


def _files(files: tuple[LogFile, ...]) -> str:
    names = [file.path.rpartition("/")[2] for file in files[:_SHOWN]]
    more = f", … {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    size = sum(file.size_bytes for file in files)
    count = counted(len(files), "file")
    return f"{', '.join(names) or 'no file'}{more} ({count}, {size:,} bytes)"
