"""A changed byte in a checkpoint with page checksums never changes an answer."""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.parquet as pq
import pytest

from headrace import Snapshot, Table
from headrace.compiled import library
from headrace.engines.arrow.checkpoint import add_batches
from headrace.errors import CorruptCheckpointError
from headrace.metrics.event import CheckpointAbandoned, Event
from tests.engines.damage import flipped, page_bodies
from tests.lake.action import Line, add, opening, remove, statistics
from tests.lake.checkpoint import Columns, Form, Shape, write_checkpoint
from tests.lake.log import commit_path, state_at, write_history
from tests.listing import batch_rows, by_key, file_rows

Answer: TypeAlias = Callable[[Snapshot], Any]

FILES = 40
COMMITS: list[list[Line]] = [
    [
        *opening(),
        *(
            add(
                f"part={'ab'[n % 2]}/file-{n:03}",
                size=n,
                stats=statistics(n, low=n, high=n + 5),
                partition_values={"part": "ab"[n % 2], "n": str(n % 3)},
            )
            for n in range(FILES)
        ),
    ],
    [remove("part=b/file-001")],
    [remove("part=a/file-000"), add("new", partition_values={"part": "a", "n": "1"})],
]
LAST_SUMMED_UP = 1
SHAPE = Shape(form=Form.CLASSIC, columns=Columns.USED)
ANSWERS: dict[str, Answer] = {
    "files": lambda snapshot: file_rows(snapshot.scan()),
    "batches": lambda snapshot: batch_rows(snapshot.scan().batches()),
    "one partition": lambda snapshot: file_rows(snapshot.scan(where="part = 'a'")),
    "two columns": lambda snapshot: file_rows(snapshot.scan(where="part = 'b' or n = 2")),
    "by statistics": lambda snapshot: file_rows(snapshot.scan(where="id > 20")),
    "count": lambda snapshot: snapshot.scan().count(),
    "metadata": lambda snapshot: (snapshot.protocol, snapshot.metadata),
}
every_writer = pytest.mark.parametrize(
    "writer",
    [
        {"compression": codec, "data_page_version": version, "use_dictionary": is_coded}
        for codec, version, is_coded in (
            *(("none", "1.0", True), ("none", "1.0", False), ("none", "2.0", True)),
            *(("snappy", "1.0", True), ("snappy", "2.0", False), ("zstd", "1.0", True)),
        )
    ],
    ids=lambda writer: " ".join(map(str, writer.values())),
)


@pytest.fixture(params=["compiled", "not compiled"], autouse=True)
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(add_batches, "_WORTHWHILE_BYTES", 0)
    if request.param == "not compiled":
        monkeypatch.setattr(library, "_library", lambda: None)
    library.function.cache_clear()
    yield
    library.function.cache_clear()


def written(table: Path, *, has_checksums: bool = True, **writer: Any) -> Path:
    """Write a table with a checkpoint, and return the checkpoint's path."""
    write_history(table, COMMITS)
    [path] = write_checkpoint(table, LAST_SUMMED_UP, state_at(COMMITS, LAST_SUMMED_UP), SHAPE)
    rows = pq.read_table(path)
    pq.write_table(rows, path, write_page_checksum=has_checksums, data_page_size=300, **writer)
    return path


def forget_commits(table: Path) -> None:
    """Delete the commits that the checkpoint covers."""
    for version in range(LAST_SUMMED_UP + 1):
        commit_path(table, version).unlink()


def answers(table: Path) -> dict[str, Any]:
    """Return the answer of each kind of query, or that it was refused."""
    return {name: _answer_or_refusal(table, answer) for name, answer in ANSWERS.items()}


def _answer_or_refusal(table: Path, answer: Answer) -> Any:
    try:
        return answer(Table(table).snapshot())
    except CorruptCheckpointError:
        return CorruptCheckpointError


@every_writer
def test_intact_pages_give_the_same_answers_with_and_without_checksums(
    tmp_path: Path, writer: dict[str, Any]
) -> None:
    written(tmp_path, has_checksums=False, **writer)
    forget_commits(tmp_path)
    expected = answers(tmp_path)
    written(tmp_path, **writer)
    forget_commits(tmp_path)
    assert answers(tmp_path) == expected
    assert CorruptCheckpointError not in expected.values()


@every_writer
def test_a_changed_page_is_refused_or_does_not_matter(
    tmp_path: Path, writer: dict[str, Any]
) -> None:
    path = written(tmp_path, **writer)
    forget_commits(tmp_path)
    truth, sound, refused = answers(tmp_path), path.read_bytes(), set[str]()
    for number, page in enumerate(chain.from_iterable(page_bodies(sound).values())):
        path.write_bytes(flipped(sound, page[number * 7 % len(page)]))
        after = answers(tmp_path)
        refused |= {name for name in after if after[name] is CorruptCheckpointError}
        assert all(after[name] in (truth[name], CorruptCheckpointError) for name in after)
    assert refused == ANSWERS.keys()


@every_writer
@pytest.mark.parametrize("leaf", ["add.path", "add.partitionValues.key_value.value", "metaData.id"])
def test_a_changed_page_is_tolerated_if_the_commits_still_exist(
    tmp_path: Path, leaf: str, writer: dict[str, Any]
) -> None:
    path = written(tmp_path, **writer)
    truth, sound = by_key(Table(tmp_path).snapshot().scan()).keys(), path.read_bytes()
    for page in page_bodies(sound)[leaf]:
        path.write_bytes(flipped(sound, page[len(page) // 2]))
        events: list[Event] = []
        table = Table(tmp_path, reporter=events.append)
        assert by_key(table.snapshot().scan()).keys() == truth
        assert any(isinstance(event, CheckpointAbandoned) for event in events)
