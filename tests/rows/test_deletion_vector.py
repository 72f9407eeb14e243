"""Deletion vectors of all three kinds; a damaged one is refused, never ignored."""

from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import wiring
from headrace.errors import (
    CorruptDeletionVectorError,
    DataFileNotFoundError,
    HeadraceError,
    UnsafePathError,
)
from headrace.protocol.action import DeletionVector
from headrace.rows.deletion_vector import DeletedRows, read_deletion_vector
from tests.lake.vector import (
    absolute_vector,
    bitmaps,
    frame,
    inline_vector,
    stored_vector,
    z85,
)

NAME = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
FILE = f"deletion_vector_{NAME}.bin"
ROWS = [0, 3, 4, 7, 11, 18, 29, 5_000_000_000]


def read(table: Path, descriptor: dict[str, Any]) -> DeletedRows:
    vector = msgspec.convert(descriptor, DeletionVector)
    return read_deletion_vector(wiring.open_files(wiring.open_store(str(table))), vector)


def refusal(table: Path, descriptor: dict[str, Any]) -> str:
    with pytest.raises(CorruptDeletionVectorError) as refused:
        read(table, descriptor)
    return refused.value.reason


def test_an_inline_vector_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, inline_vector(ROWS)).indexes().tolist() == ROWS


def test_a_vector_in_a_file_is_read_at_its_offset(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME, offset=77)
    assert read(tmp_path, descriptor).indexes().tolist() == ROWS


def test_a_vector_without_an_offset_is_the_first_of_its_file(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME)
    del descriptor["offset"]
    assert read(tmp_path, descriptor).indexes().tolist() == ROWS


def test_the_random_prefix_is_a_folder(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME, prefix="aB%20")
    assert read(tmp_path, descriptor).indexes().tolist() == ROWS


def test_a_vector_with_an_absolute_path_is_read_outside_the_table(tmp_path: Path) -> None:
    descriptor = absolute_vector(tmp_path / "else where", ROWS, uuid=NAME)
    assert read(tmp_path / "table", descriptor).indexes().tolist() == ROWS


def test_a_last_group_shortened_as_by_delta_rs_is_read(tmp_path: Path) -> None:
    whole = inline_vector([3])
    assert whole["pathOrInlineDv"].endswith("0@@r3")  # two bytes of data, two of padding
    descriptor = {**whole, "pathOrInlineDv": whole["pathOrInlineDv"][:-5] + "##093"}
    assert read(tmp_path, descriptor).indexes().tolist() == [3]


@pytest.mark.parametrize("ending", ["#0093", "###93", "####3", "#####", "##zzz"])
def test_a_last_group_shortened_to_another_size_is_refused(tmp_path: Path, ending: str) -> None:
    whole = inline_vector([3])
    descriptor = {**whole, "pathOrInlineDv": whole["pathOrInlineDv"][:-5] + ending}
    assert "text" in refusal(tmp_path, descriptor)


def test_the_empty_vector_deletes_nothing(tmp_path: Path) -> None:
    descriptor = {"storageType": "i", "pathOrInlineDv": "", "sizeInBytes": 0, "cardinality": 0}
    assert read(tmp_path, descriptor).indexes().tolist() == []


@pytest.mark.property
@given(rows=st.sets(st.integers(0, 300_000) | st.integers(0, 2**40), max_size=50))
def test_any_deleted_rows_are_read_back(tmp_path_factory: Any, rows: set[int]) -> None:
    table = tmp_path_factory.getbasetemp()
    for descriptor in (inline_vector(rows), stored_vector(table, rows, uuid=NAME)):
        assert read(table, descriptor).indexes().tolist() == sorted(rows)


@pytest.mark.property
@given(
    rows=st.sets(st.integers(0, 200)),
    start=st.integers(0, 210),
    length=st.integers(0, 210),
)
def test_a_mask_keeps_the_rows_that_are_not_deleted(
    rows: set[int], start: int, length: int
) -> None:
    descriptor = msgspec.convert(inline_vector(rows), DeletionVector)
    mask = read_deletion_vector(wiring.open_store("/"), descriptor).live_mask(start, length)
    is_live = [True] * length if mask is None else mask.to_pylist()
    assert is_live == [row not in rows for row in range(start, start + length)]


def test_dense_vectors_are_read(tmp_path: Path) -> None:
    rows = range(1, 150_000, 2)
    indexes = read(tmp_path, stored_vector(tmp_path, rows, uuid=NAME)).indexes()
    assert np.array_equal(indexes, np.arange(1, 150_000, 2, dtype=np.uint64))


def test_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    assert "checksum" in refusal(tmp_path, descriptor)


def test_a_file_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-9])
    assert "ends before" in refusal(tmp_path, descriptor)


def test_another_size_than_the_log_says_is_refused(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes() + bytes(9))
    assert "bytes, the log says" in refusal(tmp_path, {**descriptor, "sizeInBytes": 60})


def test_another_number_of_rows_than_the_log_says_is_refused(tmp_path: Path) -> None:
    for descriptor in (inline_vector(ROWS), stored_vector(tmp_path, ROWS, uuid=NAME)):
        wrong = {**descriptor, "cardinality": len(ROWS) + 1}
        assert "rows, the log says" in refusal(tmp_path, wrong)


def test_another_format_of_files_is_refused(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME)
    path = tmp_path / FILE
    path.write_bytes(b"\x02" + path.read_bytes()[1:])
    assert "format" in refusal(tmp_path, descriptor)


def test_another_magic_number_is_refused(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME)
    payload = b"\0\0\0\0" + bitmaps(ROWS)[4:]
    (tmp_path / FILE).write_bytes(b"\x01" + frame(payload))
    assert "magic" in refusal(tmp_path, descriptor)


def test_a_bitmap_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    payload = bytearray(bitmaps(range(0, 60_000, 2)))
    payload[-1] ^= 0x55
    descriptor = {**inline_vector(range(0, 60_000, 2)), "pathOrInlineDv": z85(bytes(payload))}
    assert "cannot be decoded" in refusal(tmp_path, descriptor)


def test_an_unknown_kind_of_vector_is_refused(tmp_path: Path) -> None:
    assert "storage type" in refusal(tmp_path, {**inline_vector(ROWS), "storageType": "x"})


@pytest.mark.parametrize("text", ["", "abc", "~~~~~", "é" * 45, "#" * 75])
def test_an_inline_vector_of_the_wrong_size_is_refused(tmp_path: Path, text: str) -> None:
    assert "text" in refusal(tmp_path, {**inline_vector(ROWS), "pathOrInlineDv": text})


@pytest.mark.parametrize(
    "changed", [{"offset": 0}, {"offset": -3}, {"sizeInBytes": -1}, {"sizeInBytes": -9}]
)
def test_impossible_offsets_and_sizes_are_refused(tmp_path: Path, changed: dict[str, int]) -> None:
    whole = stored_vector(tmp_path, ROWS, uuid=NAME)
    refusal(tmp_path, {**whole, **changed})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME)
    (tmp_path / FILE).unlink()
    with pytest.raises(DataFileNotFoundError, match=FILE):
        read(tmp_path, descriptor)


def test_a_prefix_does_not_lead_out_of_the_table(tmp_path: Path) -> None:
    descriptor = stored_vector(tmp_path, ROWS, uuid=NAME)
    with pytest.raises(UnsafePathError):
        read(tmp_path, {**descriptor, "pathOrInlineDv": "../" + z85(NAME.bytes)})


@pytest.mark.property
@given(data=st.data())
def test_damage_to_the_text_is_refused_or_changes_nothing(data: st.DataObject) -> None:
    rows = [1, 2, 70_000, 2**33]
    descriptor = inline_vector(rows)
    text = descriptor["pathOrInlineDv"]
    place = data.draw(st.integers(0, len(text) - 1), label="place")
    letter = data.draw(st.sampled_from(["", "0", "#", "}", "~", "é", "00"]), label="letter")
    damaged = {**descriptor, "pathOrInlineDv": text[:place] + letter + text[place + 1 :]}
    vector = msgspec.convert(damaged, DeletionVector)
    try:
        deleted = read_deletion_vector(wiring.open_store("/"), vector)
    except HeadraceError:
        return
    # Padding in the last group means nothing, and a changed row number cannot be detected.
    assert len(deleted) == len(rows)
