"""A commit is read in pieces; the boundaries do not change the result."""

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.engines.arrow import json_lines
from headrace.errors import CorruptLogError
from headrace.protocol.log_file import LogFile
from headrace.storage.local import LocalStore
from tests.engines.source import log_bytes
from tests.lake.action import add, opening, vector

LINES = [*opening(), *(add(f"Zürich-{n}") for n in range(9))]
TEXT = "\n".join(json.dumps(line, ensure_ascii=False) for line in LINES).encode()
MARK = b"\xef\xbb\xbf"
SIZES = [1, 2, 3, 4, 50, 1000, len(TEXT) - 1, len(TEXT), 1 << 20]


def adds(folder: Path, content: bytes, columns: tuple[str, ...] = ("add", "remove")) -> list[Any]:
    (folder / "commit").write_bytes(content)
    file = LogFile(path="commit", size_bytes=len(content), version=0)
    batches = json_lines.scan_json(log_bytes(LocalStore(str(folder))), file, columns=columns)
    return [action for batch in batches for action in batch.actions("add")]


def paths(folder: Path, content: bytes) -> list[str]:
    return [action.path for action in adds(folder, content)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("content", [TEXT, TEXT + b"\n", MARK + TEXT, MARK, b"", b"\n\n" + TEXT])
def test_every_line_is_read_wherever_chunks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, content: bytes
) -> None:
    monkeypatch.setattr("headrace.engines.log_bytes.CHUNK_BYTES", size)
    expected = [f"Zürich-{n}" for n in range(9)] if TEXT in content else []
    assert paths(tmp_path, content) == expected


@pytest.mark.parametrize("size", SIZES)
def test_a_damaged_line_has_its_number_in_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("headrace.engines.log_bytes.CHUNK_BYTES", size)
    with pytest.raises(CorruptLogError) as caught:
        paths(tmp_path, TEXT + b"\n\n{" + b"\n" + TEXT)
    assert caught.value.line == len(LINES) + 2


@pytest.mark.parametrize("version", [None, 7], ids=["summary", "commit"])
def test_only_requested_actions_are_kept(tmp_path: Path, version: int | None) -> None:
    named = {"sidecar": {"path": "x", "sizeInBytes": 1, "modificationTime": 1}}
    content = TEXT + b"\n" + json.dumps(named).encode()
    (tmp_path / "manifest.json").write_bytes(content)
    file = LogFile(path="manifest.json", size_bytes=len(content), version=version)
    log = log_bytes(LocalStore(str(tmp_path)))
    batches = list(json_lines.scan_json(log, file, columns=("sidecar",)))
    assert [action.path for batch in batches for action in batch.actions("sidecar")] == ["x"]
    assert sum(map(len, batches)) == 1


def test_fields_that_are_not_requested_are_ignored(tmp_path: Path) -> None:
    line = add("a", size=7, stats="{}", tags={"x": "y"}, vector=vector("v"))
    columns = ("add.path", "add.tags", "add.stats_parsed.numRecords")
    [action] = adds(tmp_path, json.dumps(line).encode(), columns)
    assert (action.path, action.tags) == ("a", {"x": "y"})
    assert (action.stats, action.deletion_vector, action.size) == (None, None, None)
    assert (action.partition_values, action.modification_time, action.data_change) == ({}, 0, True)


def test_an_action_requested_as_a_whole_has_all_its_fields(tmp_path: Path) -> None:
    [action] = adds(tmp_path, json.dumps(add("a", size=7)).encode(), ("add.path", "add"))
    assert action.size == 7


@pytest.mark.parametrize("columns", [("add.size",), ("add.path", "add.size"), ("add",)])
def test_a_requested_field_must_follow_the_protocol(
    tmp_path: Path, columns: tuple[str, ...]
) -> None:
    with pytest.raises(CorruptLogError):
        adds(tmp_path, b'{"add":{"path":"a","size":"7"}}', columns)


def test_only_requested_fields_must_follow_the_protocol(tmp_path: Path) -> None:
    [action] = adds(tmp_path, b'{"add":{"path":"a","size":"7","stats":[]}}', ("add.path",))
    assert action.path == "a"


@pytest.mark.parametrize(
    "stats", [b'"', b'"\\q"', b'"\n"', b"tru", b"01", b"[1,]", b'{"a" 1}', b"[" * 100_000]
)
def test_lines_must_be_json_even_if_nothing_is_requested(tmp_path: Path, stats: bytes) -> None:
    with pytest.raises(CorruptLogError):
        adds(tmp_path, b'{"add":{"path":"a","stats":' + stats + b"}}", ("add.path",))
