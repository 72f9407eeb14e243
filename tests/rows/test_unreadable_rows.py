"""Rows that cannot be read: a typed error that names the file, after the rows before it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import (
    CorruptDataFileError,
    CorruptDeletionVectorError,
    DataFileNotFoundError,
    HeadraceError,
    PartitionValueError,
)
from tests.lake.action import add
from tests.lake.log import write_history
from tests.listing import open_snapshot
from tests.rows.lake import NUMBER_FIELDS, field, numbers, table_lines, write_data, write_table

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


def test_a_missing_file_raises_after_the_rows_before_it(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3), numbers(10, 3)])
    (tmp_path / "part-0.parquet").unlink()
    reader = open_snapshot(tmp_path).rows()
    assert reader.read_next_batch().num_rows == 3
    with pytest.raises(DataFileNotFoundError, match="part-0"):
        reader.read_next_batch()


@pytest.mark.parametrize("keep", [0, 3, 40, -5])
def test_a_truncated_file_is_named(tmp_path: Path, keep: int) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 1000)])
    path = tmp_path / "part-0.parquet"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CorruptDataFileError, match="part-0"):
        open_snapshot(tmp_path).rows().read_all()


def test_a_damaged_page_is_detected_by_its_checksum(tmp_path: Path) -> None:
    data = pa.table({"n": pa.array(range(100_000, 101_000), pa.int64())})
    write_table(
        tmp_path,
        NUMBER_FIELDS,
        [data],
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
    )
    path = tmp_path / "part-0.parquet"
    damaged = bytearray(path.read_bytes())
    damaged[1000] ^= 0x10
    path.write_bytes(damaged)
    with pytest.raises(CorruptDataFileError, match="part-0"):
        open_snapshot(tmp_path).rows().read_all()


@pytest.mark.parametrize("where", [None, "n >= 0", "m >= 0"])
@pytest.mark.parametrize("rows", [60, 20_000])
def test_a_column_that_ends_before_its_row_group_is_damage(
    tmp_path: Path, rows: int, where: str | None
) -> None:
    data = pa.table({"n": range(rows), "m": range(rows)})
    write_table(
        tmp_path,
        [*NUMBER_FIELDS, field("m", "long")],
        [data],
        compression="none",
        data_page_version="2.0",
        use_dictionary=False,
        write_statistics=False,
    )
    path = tmp_path / "part-0.parquet"
    content = bytearray(path.read_bytes())
    start = pq.read_metadata(path).row_group(0).column(0).data_page_offset
    # Make the header of the first page say that it has no values.
    place = content.index(_zigzag(rows), start)
    content[place : place + len(_zigzag(rows))] = _zigzag(0, size=len(_zigzag(rows)))
    path.write_bytes(content)
    with pytest.raises(CorruptDataFileError, match="part-0"):
        open_snapshot(tmp_path).rows(where=where).read_all()


def test_a_column_name_that_is_not_utf8_is_damage(tmp_path: Path) -> None:
    write_table(
        tmp_path, [*NUMBER_FIELDS, field("mm", "long")], [pa.table({"n": [1], "mm": [1]})] * 3
    )
    path = tmp_path / "part-0.parquet"
    path.write_bytes(path.read_bytes().replace(b"mm", b"\xfcm"))
    with pytest.raises(CorruptDataFileError, match="part-0"):
        open_snapshot(tmp_path).rows().read_all()


def _zigzag(number: int, *, size: int = 1) -> bytes:
    """Encode a number in Thrift's compact protocol, with at least `size` bytes."""
    rest = 2 * number
    groups: list[int] = []
    while rest or len(groups) < size:
        groups.append(rest & 0x7F)
        rest >>= 7
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def test_a_folder_instead_of_a_file_is_a_typed_error(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3)])
    (tmp_path / "part-0.parquet").unlink()
    (tmp_path / "part-0.parquet").mkdir()
    with pytest.raises(HeadraceError, match="part-0"):
        open_snapshot(tmp_path).rows().read_all()


def test_a_vector_that_deletes_rows_beyond_the_end_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3)], deleted={0: [3]})
    with pytest.raises(CorruptDeletionVectorError, match="row 3"):
        open_snapshot(tmp_path).rows().read_all()


def test_a_partition_value_of_the_wrong_type_is_an_error_if_it_is_read(tmp_path: Path) -> None:
    fields = [*NUMBER_FIELDS, field("p", "integer")]
    path = write_data(tmp_path, "a.parquet", numbers(0, 3))
    lines = [add(path, partition_values={"p": "seven"})]
    write_history(tmp_path, [table_lines(fields, partition_columns=["p"]), lines])
    snapshot = open_snapshot(tmp_path)
    assert snapshot.rows(columns=["n"]).read_all().num_rows == 3
    with pytest.raises(PartitionValueError):
        snapshot.rows().read_all()


def test_an_error_in_the_log_reaches_the_reader(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3), numbers(10, 3)])
    snapshot = open_snapshot(tmp_path)
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text("{not json\n")
    with pytest.raises(HeadraceError):
        snapshot.rows().read_all()


def test_a_value_that_does_not_fit_names_its_file_among_small_files(tmp_path: Path) -> None:
    fits, too_large = pa.table({"n": pa.array([1], pa.int64())}), pa.table({"n": [2**40]})
    write_table(tmp_path, [field("n", "integer")], [fits] * 4 + [too_large] + [fits] * 5)
    reader = open_snapshot(tmp_path).rows()
    rows = 0
    with pytest.raises(CorruptDataFileError, match=r"4.*parquet"):  # noqa: PT012
        for batch in reader:
            rows += batch.num_rows
    assert rows == 5
