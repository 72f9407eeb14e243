"""Newline-delimited actions, read in bounded pieces and decoded only as far as asked."""

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from headrace.engines.log_bytes import LogBytes
from headrace.errors import CorruptLogError
from headrace.metrics.meter import Meter
from headrace.plan.batch import RowBatch
from headrace.protocol.action import ACTION_TYPES, Action, ActionRow, narrowed
from headrace.protocol.log_file import LogFile
from headrace.protocol.version_file import inflate

_MAY_BE_COMPRESSED = "_transaction_log/"
"""Files of IndexTables logs; those of Delta logs are plain."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def scan_json(log: LogBytes, file: LogFile, *, columns: tuple[str, ...]) -> Iterator[RowBatch]:
    """The actions of one file, piece by piece; a batch is what a piece decodes to.

    Raises:
        CorruptLogError: a line is not an action, by its number.
    """
    before = b""
    first_line = 1
    for lines in _whole_lines(log, file):
        first_line += before.count(b"\n")
        before = lines
        # Summaries of commits are decoded to the last line, since a damaged one can be replaced
        # as long as nothing of it has been given out.
        if file.version is None or _may_hold(lines, columns):
            decoder = _decoder(columns)  # made for the first lines that are worth it
            try:
                rows = decoder.decode_lines(lines)
            except _UNDECODABLE as error:
                raise _corrupt(file, lines, first_line, decoder, error) from error
            if not rows and file.sums_up is not None:  # it is read whole, so that was all
                raise CorruptLogError(path=file.path, line=None, reason="it sums up nothing")
            yield RowBatch(file, _held(rows, columns))


def _held(rows: list[ActionRow], columns: tuple[str, ...]) -> list[ActionRow]:
    """The lines that hold something wanted; where adds are wanted all of them, for they count.

    A phase may keep what it is given until the end, and a file may have a million lines.
    """
    if any(column.startswith("add") for column in columns):
        return rows
    nothing = type(rows[0])() if rows else None
    return [row for row in rows if row != nothing]


def count_json_rows(rows: int, *, files: int, meter: Meter) -> None:
    """Count rows; `files` of them are adds and removes that are replayed."""
    meter.count(total_metadata_rows=rows, rows_from_json=rows, non_file_action_rows=rows - files)


def _whole_lines(log: LogBytes, file: LogFile) -> Iterator[bytes]:
    """Pieces of the file that end where a line ends."""
    may_be_compressed = file.path.startswith(_MAY_BE_COMPRESSED)
    if file.sums_up is not None or log.is_small(file) or may_be_compressed:
        # A summary of commits may turn out to contradict itself, and must then be replaced as a
        # whole: so nothing of it may be given out before all of it has been read.
        content = log.read(file)
        if may_be_compressed:
            content = _inflated(file, content)
        yield content.removeprefix(_BYTE_ORDER_MARK)
        return
    pieces: list[bytes] = []  # of a line that has not ended; joined once, however long it is
    mark = _BYTE_ORDER_MARK
    for chunk in log.chunks(file):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*pieces, chunk[:end])).removeprefix(mark)
            pieces, mark = [], b""
        pieces.append(chunk[end:])
    if rest := b"".join(pieces).removeprefix(mark):
        yield rest


def _inflated(file: LogFile, content: bytes) -> bytes:
    try:
        return inflate(content)
    except ValueError as error:
        raise CorruptLogError(path=file.path, line=None, reason=str(error)) from error


def _may_hold(lines: bytes, columns: tuple[str, ...]) -> bool:
    """Whether decoding is worth it: most commits have no metadata, and all have files."""
    wanted = _wanted_line(columns)
    if wanted is None:
        return True
    first = lines[: lines.find(b"\n") + 1] or lines
    return wanted.search(b"\n" + first) is not None or wanted.search(lines) is not None


@cache
def _wanted_line(columns: tuple[str, ...]) -> re.Pattern[bytes] | None:
    """The end of a line before one that may hold a wanted action; None: any may.

    A line holds one action, so its first name tells which, unless its value is null. Where a name
    is spelt in an unusual way, with escapes or spaces, only decoding tells. Of lines that are not
    about files there are few: these are looked through for a wanted name.
    """
    actions = list(_fields_by_action(columns))
    if "add" in actions:
        return None
    files = [name for name in ("add", "remove") if name not in actions]
    others = [name for name in ACTION_TYPES if name not in (*actions, *files)]
    another = rb'\{"(?:%s)":\{|\{"(?:%s)":\{(?![^\n]*"(?:%s)")' % tuple(
        "|".join(names).encode() for names in (files, others, actions)
    )
    # The line feed is what makes the search quick: whole lines are leapt over.
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
    """The fields asked for; an empty name stands for all of them. JSON has none below."""
    fields: dict[str, set[str]] = {}
    for column in columns:
        action, _, rest = column.partition(".")
        fields.setdefault(action, set()).add(rest.partition(".")[0])
    return fields


def _corrupt(
    file: LogFile,
    lines: bytes,
    first_line: int,
    decoder: msgspec.json.Decoder[ActionRow],
    error: Exception,
) -> CorruptLogError:
    """Find the line that did it."""
    for number, line in enumerate(lines.split(b"\n"), start=first_line):
        if line.strip():
            try:
                decoder.decode(line)
            except _UNDECODABLE as cause:
                return CorruptLogError(path=file.path, line=number, reason=str(cause))
    return CorruptLogError(path=file.path, line=None, reason=str(error))
