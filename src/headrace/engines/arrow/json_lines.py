"""Reads newline-delimited actions in bounded chunks, and decodes only the requested fields.

A log file and column names enter; `RowBatch` values leave.
"""

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from headrace.engines.log_bytes import LogBytes
from headrace.errors import CorruptLogError
from headrace.metrics.meter import Meter
from headrace.plan.batch import RowBatch
from headrace.protocol.action import ACTION_TYPES, Action, ActionRow, narrowed
from headrace.protocol.key import canonical_path
from headrace.protocol.log_file import LogFile
from headrace.protocol.version_file import inflate

_INDEXTABLES = "_transaction_log/"
"""The directory of IndexTables logs. Their files may be compressed, and their lines are ordered."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def scan_json(log: LogBytes, file: LogFile, *, columns: tuple[str, ...]) -> Iterator[RowBatch]:
    """Yield the actions of one file, one batch per chunk.

    Raises:
        CorruptLogError: a line is not an action; the error has its number.
    """
    before = b""
    first_line = 1
    for lines in _whole_lines(log, file):
        first_line += before.count(b"\n")
        before = lines
        # Summaries of commits are decoded to the last line: a damaged one can be replaced as long
        # as none of its rows have been yielded.
        if file.version is None or _may_hold(lines, columns):
            decoder = _decoder(columns)  # built for the first lines that need it
            try:
                rows = decoder.decode_lines(lines)
            except _UNDECODABLE as error:
                raise _corrupt(file, lines, first_line, decoder, error) from error
            if not rows and file.compacted is not None:  # it is read as a whole, so it is empty
                raise CorruptLogError(path=file.path, line=None, reason="it contains no action")
            if file.path.startswith(_INDEXTABLES):
                rows = _last_of_each_path(rows)
            yield RowBatch(file, _relevant_rows(rows, columns))


def _last_of_each_path(rows: list[ActionRow]) -> list[ActionRow]:
    """Return the lines without those about a file that a later line of the same version is about.

    A writer of IndexTables replaces a file by a remove and an add of the same path. In a Delta log
    that is damage.
    """
    paths = [_path(row) for row in rows]
    last = {path: number for number, path in enumerate(paths)}
    return [
        row
        for number, (path, row) in enumerate(zip(paths, rows, strict=True))
        if path is None or last[path] == number
    ]


def _path(row: ActionRow) -> str | None:
    """Return the path of a file that a line adds or removes in canonical form, else None."""
    action = getattr(row, "add", None) or getattr(row, "remove", None)
    return None if action is None else canonical_path(action.path)


def _relevant_rows(rows: list[ActionRow], columns: tuple[str, ...]) -> list[ActionRow]:
    """Return the lines with a requested action; all lines if adds are requested, to count them.

    A phase may keep its rows until the end, and a file may have a million lines.
    """
    if any(column.startswith("add") for column in columns):
        return rows
    nothing = type(rows[0])() if rows else None
    return [row for row in rows if row != nothing]


def count_json_rows(rows: int, *, files: int, meter: Meter) -> None:
    """Count rows, of them `files` replayed adds and removes."""
    meter.count(total_metadata_rows=rows, rows_from_json=rows, non_file_action_rows=rows - files)


def _whole_lines(log: LogBytes, file: LogFile) -> Iterator[bytes]:
    """Yield chunks of the file that end at the end of a line."""
    may_be_compressed = file.path.startswith(_INDEXTABLES)
    if file.compacted is not None or log.is_small(file) or may_be_compressed:
        # A summary of commits that contradicts itself must be replaced as a whole, so nothing of it
        # may be yielded before all of it has been read.
        content = log.read(file)
        if may_be_compressed:
            content = _inflated(file, content)
        yield content.removeprefix(_BYTE_ORDER_MARK)
        return
    unfinished: list[bytes] = []  # of an unfinished line; joined once, however long it is
    mark = _BYTE_ORDER_MARK
    for chunk in log.chunks(file):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*unfinished, chunk[:end])).removeprefix(mark)
            unfinished, mark = [], b""
        unfinished.append(chunk[end:])
    if last_line := b"".join(unfinished).removeprefix(mark):
        yield last_line


def _inflated(file: LogFile, content: bytes) -> bytes:
    try:
        return inflate(content)
    except ValueError as error:
        raise CorruptLogError(path=file.path, line=None, reason=str(error)) from error


def _may_hold(lines: bytes, columns: tuple[str, ...]) -> bool:
    """Return whether decoding is worth it: most commits have files but no metadata."""
    pattern = _relevant_line(columns)
    if pattern is None:
        return True
    first = lines[: lines.find(b"\n") + 1] or lines
    return pattern.search(b"\n" + first) is not None or pattern.search(lines) is not None


@cache
def _relevant_line(columns: tuple[str, ...]) -> re.Pattern[bytes] | None:
    """Match the end of a line before one that may hold a requested action; None: any may.

    A line holds one action, so its first name identifies it, unless its value is null. If a name
    is spelled with escapes or spaces, only decoding can identify it. Few lines are not about
    files: these are searched for a requested name.
    """
    actions = list(_fields_by_action(columns))
    if "add" in actions:
        return None
    files = [name for name in ("add", "remove") if name not in actions]
    other_actions = [name for name in ACTION_TYPES if name not in (*actions, *files)]
    another = rb'\{"(?:%s)":\{|\{"(?:%s)":\{(?![^\n]*"(?:%s)")' % tuple(
        "|".join(names).encode() for names in (files, other_actions, actions)
    )
    # The line feed makes the search fast: it skips whole lines.
    return re.compile(rb"\n(?!%s|\Z)" % another)


@cache
def _decoder(columns: tuple[str, ...]) -> msgspec.json.Decoder[ActionRow]:
    lines = [
        (action, _kind(action, fields) | None, None)
        for action, fields in _fields_by_action(columns).items()
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Line", lines, gc=False))


def _kind(action: str, fields: set[str]) -> type[Action]:
    whole = ACTION_TYPES[action]
    return whole if "" in fields else narrowed(whole, fields)


def _fields_by_action(columns: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the requested fields of each action; an empty name means all of them."""
    fields: dict[str, set[str]] = {}
    for column in columns:
        action, _, path = column.partition(".")
        fields.setdefault(action, set()).add(path.partition(".")[0])
    return fields


def _corrupt(
    file: LogFile,
    lines: bytes,
    first_line: int,
    decoder: msgspec.json.Decoder[ActionRow],
    error: Exception,
) -> CorruptLogError:
    """Find the line that failed to decode."""
    for number, line in enumerate(lines.split(b"\n"), start=first_line):
        if line.strip():
            try:
                decoder.decode(line)
            except _UNDECODABLE as cause:
                return CorruptLogError(path=file.path, line=number, reason=str(cause))
    return CorruptLogError(path=file.path, line=None, reason=str(error))
