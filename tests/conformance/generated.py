"""Small tables on which readers differ, and which no project has as a fixture."""

from collections.abc import Callable
from pathlib import Path

from tests.lake.action import Line, add, opening, remove
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import (
    commit_path,
    state_at,
    write_commit,
    write_hint,
    write_history,
)

HISTORY: list[list[Line]] = [[*opening(), add("a"), add("b")], [add("c"), remove("a")], [add("d")]]


def log_starts_at_41(table: Path) -> None:
    for version, lines in enumerate(HISTORY, start=41):
        write_commit(table, version, lines)


def dangling_hint(table: Path) -> None:
    write_history(table, HISTORY)
    write_hint(table, 2)


def hint_too_new(table: Path) -> None:
    write_history(table, HISTORY)
    write_hint(table, 99)


def corrupt_checkpoint(table: Path) -> None:
    write_history(table, HISTORY)
    [path] = write_checkpoint(table, 1, state_at(HISTORY, 1))
    path.write_bytes(path.read_bytes()[:-9])


def missing_sidecar(table: Path) -> None:
    write_history(table, HISTORY)
    shape = Shape(form=Form.V2_PARQUET, sidecars=2)
    write_checkpoint(table, 1, state_at(HISTORY, 1), shape)[1].unlink()


def byte_order_mark(table: Path) -> None:
    write_history(table, HISTORY)
    path = commit_path(table, 2)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


def key_added_and_removed(table: Path) -> None:
    write_history(table, [*HISTORY, [add("e"), remove("e")]])


def key_added_twice(table: Path) -> None:
    write_history(table, [*HISTORY, [add("e"), add("e", size=2)]])


def encoded_spelling(table: Path) -> None:
    write_history(table, [[*opening(), add("a%2Db")], [remove("a-b")]])


CASES: dict[str, Callable[[Path], None]] = {
    case.__name__: case
    for case in (
        log_starts_at_41,
        dangling_hint,
        hint_too_new,
        corrupt_checkpoint,
        missing_sidecar,
        byte_order_mark,
        key_added_and_removed,
        key_added_twice,
        encoded_spelling,
    )
}
