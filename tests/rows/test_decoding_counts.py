"""A read counts which decoder handled its column chunks."""

from pathlib import Path

import pyarrow as pa
import pytest

from headrace.compiled.library import is_built
from tests.listing import open_snapshot
from tests.rows.lake import field, write_table

LONG, LIST = (
    field("n", "long"),
    field("l", {"type": "array", "elementType": "long", "containsNull": True}),
)
ROWS = 30_000

pytestmark = pytest.mark.skipif(not is_built(), reason="there is no compiled library")


def decoded_and_left(table: Path, where: str | None = None) -> tuple[int, int]:
    with open_snapshot(table).rows(where=where) as reader:
        reader.read_all()
        numbers = reader.metrics.as_dict()
    return numbers["data.chunks_decoded"], numbers["data.chunks_left_to_arrow"]


@pytest.mark.parametrize("where", [None, "n > 5"])
def test_flat_columns_of_large_row_groups_are_decoded(tmp_path: Path, where: str | None) -> None:
    data = pa.table({"n": range(ROWS)})
    write_table(tmp_path, [LONG], [data, data])
    assert decoded_and_left(tmp_path, where) == (2, 0)


def test_an_encoding_the_compiled_loop_declines_is_left_to_arrow(tmp_path: Path) -> None:
    data = pa.table({"n": range(ROWS)})
    encoding = "DELTA_BINARY_PACKED"
    write_table(tmp_path, [LONG], [data], use_dictionary=False, column_encoding=encoding)
    assert decoded_and_left(tmp_path) == (0, 1)


def test_nested_columns_are_left_to_arrow(tmp_path: Path) -> None:
    data = pa.table({"n": range(ROWS), "l": [[1, 2]] * ROWS})
    write_table(tmp_path, [LONG, LIST], [data])
    assert decoded_and_left(tmp_path) == (1, 1)


def test_small_files_of_one_kind_are_decoded(tmp_path: Path) -> None:
    write_table(tmp_path, [LONG], [pa.table({"n": [1, 2]})] * 3)
    assert decoded_and_left(tmp_path) == (2, 1)  # the newest is read alone


def test_small_files_the_compiled_loop_declines_are_left_to_arrow(tmp_path: Path) -> None:
    write_table(tmp_path, [LONG, LIST], [pa.table({"n": [1], "l": [[1]]})] * 3)
    assert decoded_and_left(tmp_path) == (0, 6)
