"""File marks: which changes they detect, and how much they read."""

import os
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import DataFileNotFoundError
from headrace.pipeline.runs import file_mark
from headrace.pipeline.runs.file_mark import MARKS, describe_alteration, make_marks
from headrace.pipeline.sources.source import LocalFile

MIB = 1 << 20
NO_MARKS = MARKS.empty_table()


def file_of(folder: Path, name: str, size: int) -> LocalFile:
    place = folder / name
    place.write_bytes(os.urandom(size))
    return LocalFile(path=name, dv_id=None, location=place)


def alteration(marks: pa.Table, file: LocalFile) -> str | None:
    (row,) = [row for row in marks.to_pylist() if row["path"] == file.path]
    return describe_alteration(
        file.location,
        size_bytes=row["size_bytes"],
        modified_ns=row["modified_ns"],
        content=row["content"],
    )


def flip(place: Path, offset: int) -> None:
    with place.open("r+b") as opened:
        opened.seek(offset)
        byte = opened.read(1)
        opened.seek(offset)
        opened.write(bytes([byte[0] ^ 1]))
    os.utime(place, ns=(1, 1))


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 3 * MIB, 50 * MIB])
def test_at_most_a_mebibyte_of_a_file_is_read(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    parts = file_mark._sampled_parts

    def counted(size_bytes: int) -> Any:
        for start, length in parts(size_bytes):
            read.append(length)
            assert start >= 0
            assert start + length <= size_bytes
            yield start, length

    monkeypatch.setattr(file_mark, "_sampled_parts", counted)
    make_marks("s", [file_of(tmp_path, "f", size)], earlier=NO_MARKS)
    assert sum(read) == min(size, MIB)


@pytest.mark.parametrize("size", [1, MIB, 5 * MIB])
def test_a_changed_head_or_footer_is_detected_and_a_copy_is_no_change(
    tmp_path: Path, size: int
) -> None:
    file = file_of(tmp_path, "f", size)
    marks = make_marks("s", [file], earlier=NO_MARKS)
    os.utime(file.location, ns=(1, 1))
    assert alteration(marks, file) is None
    for offset in {0, size - 1}:
        flip(file.location, offset)
        assert alteration(marks, file) == "its content has changed"
        flip(file.location, offset)
    file.location.write_bytes(b"x" * (size + 1))
    assert alteration(marks, file) == f"it has {size + 1} bytes and had {size}"


def test_only_files_without_a_valid_mark_are_marked(tmp_path: Path) -> None:
    files = [file_of(tmp_path, name, 10) for name in "abc"]
    first = make_marks("s", files[:2], earlier=NO_MARKS)
    assert first["path"].to_pylist() == ["a", "b"]
    flip(files[1].location, 0)
    second = make_marks("s", files, earlier=first)
    assert second["path"].to_pylist() == ["b", "c"]
    assert make_marks("s", [], earlier=first).num_rows == 0


def test_a_missing_file_is_named_in_the_error(tmp_path: Path) -> None:
    missing = LocalFile(path="gone", dv_id=None, location=tmp_path / "gone")
    with pytest.raises(DataFileNotFoundError, match="gone"):
        make_marks("s", [missing], earlier=NO_MARKS)


def test_marks_of_earlier_releases_are_checked_by_their_own_rule(tmp_path: Path) -> None:
    file = file_of(tmp_path, "f", 3 * MIB)
    content = blake2b(file.location.read_bytes(), digest_size=16).hexdigest()
    row = {"path": "f", "size_bytes": 3 * MIB, "modified_ns": 7, "content": content}
    marks = pa.Table.from_pylist([row], schema=MARKS)
    assert alteration(marks, file) is None
    flip(file.location, MIB + 12345)
    assert alteration(marks, file) == "its content has changed"
