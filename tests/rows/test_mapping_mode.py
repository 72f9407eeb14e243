"""Physical names apply only where the protocol and the table property enable them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import CorruptDataFileError, InvalidTableError
from tests.lake.action import Line, add, protocol
from tests.lake.log import write_history
from tests.listing import open_snapshot
from tests.rows.lake import FEATURES, field, mapped, struct, table_lines, write_data

SIGMA, FINAL_SIGMA = "\u03c3", "\u03c2"
UNMAPPED = tuple(name for name in FEATURES if name != "columnMapping")
FIELDS = [
    mapped("id", "long", "c1", 1),
    mapped("part", "string", "c2", 2),
    mapped("s", struct(mapped("m", "long", "c4", 4)), "c3", 3),
]
DISPLAYED = pa.table({"id": [1, 2], "s": [{"m": 10}, {"m": 20}]})
PHYSICAL = pa.table({"c1": [1, 2], "c3": [{"c4": 10}, {"c4": 20}]})


def write(folder: Path, opening: Line, mode: str | None, data: pa.Table, part: str) -> Path:
    properties = {} if mode is None else {"delta.columnMapping.mode": mode}
    lines = [opening, *table_lines(FIELDS, partition_columns=["part"], properties=properties)[1:]]
    path = write_data(folder, "part-0.parquet", data)
    stats = f'{{"numRecords":2,"minValues":{{"{data.column_names[0]}":1}},"maxValues":{{}}}}'
    return write_history(folder, [lines, [add(path, partition_values={part: "x"}, stats=stats)]])


@pytest.mark.parametrize("mode", [None, "none", "NONE"])
@pytest.mark.parametrize("opening", [protocol(features=FEATURES), protocol(reader=2)])
def test_without_a_mode_columns_are_stored_under_their_logical_names(
    tmp_path: Path, mode: str | None, opening: Line
) -> None:
    check(write(tmp_path, opening, mode, DISPLAYED, "part"))


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("opening", [protocol(features=UNMAPPED), protocol(reader=1)])
def test_a_protocol_that_does_not_enable_mapping_has_none(
    tmp_path: Path, mode: str, opening: Line
) -> None:
    check(write(tmp_path, opening, mode, DISPLAYED, "part"))


@pytest.mark.parametrize("opening", [protocol(features=FEATURES), protocol(reader=2)])
def test_an_enabled_mode_uses_physical_names(tmp_path: Path, opening: Line) -> None:
    check(write(tmp_path, opening, "name", PHYSICAL, "c2"))


def check(table: Path) -> None:
    snapshot = open_snapshot(table)
    expected: list[dict[str, Any]] = [
        {"id": 1, "part": "x", "s": {"m": 10}},
        {"id": 2, "part": "x", "s": {"m": 20}},
    ]
    assert snapshot.rows().read_all().to_pylist() == expected
    assert snapshot.rows(where="id = 2 AND part = 'x'").read_all().to_pylist() == expected[1:]
    assert snapshot.rows(where="s.m = 10").read_all().to_pylist() == expected[:1]


@pytest.mark.parametrize("is_member", [False, True])
def test_a_file_with_two_columns_of_one_id_is_refused(tmp_path: Path, *, is_member: bool) -> None:
    twice = [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": "1"}) for name in ("a", "b")]
    if is_member:
        fields = [mapped("s", struct(mapped("m", "long", "c1", 1)), "c2", 2)]
        outer = pa.field("c2", pa.struct(twice), metadata={"PARQUET:field_id": "2"})
        data = pa.table([pa.array([{"a": 1, "b": 2}], pa.struct(twice))], schema=pa.schema([outer]))
    else:
        fields = [mapped("id", "long", "c1", 1)]
        data = pa.table([[1], [2]], schema=pa.schema(twice))
    lines = table_lines(fields, properties={"delta.columnMapping.mode": "id"})
    write_history(tmp_path, [lines, [add(write_data(tmp_path, "0.parquet", data))]])
    with pytest.raises(CorruptDataFileError, match="a, b"):
        open_snapshot(tmp_path).rows().read_all()


def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    table = write(tmp_path, protocol(features=FEATURES), "sometimes", DISPLAYED, "part")
    with pytest.raises(InvalidTableError, match="sometimes"):
        open_snapshot(table).rows()


def test_names_that_are_equal_only_under_case_folding_are_different(tmp_path: Path) -> None:
    fields = [field(name, "long") for name in ("straße", "strasse", FINAL_SIGMA, SIGMA)]
    lines = table_lines(fields, partition_columns=["strasse"])
    path = write_data(tmp_path, "0.parquet", pa.table({"straße": [1], SIGMA: [3]}))
    write_history(tmp_path, [lines, [add(path, partition_values={"strasse": "2"})]])
    snapshot = open_snapshot(tmp_path)
    expected = [{"straße": 1, "strasse": 2, FINAL_SIGMA: None, SIGMA: 3}]
    assert snapshot.rows().read_all().to_pylist() == expected
    assert (
        snapshot.rows(where=f"straße = 1 AND strasse = 2 AND {FINAL_SIGMA} IS NULL")
        .read_all()
        .num_rows
        == 1
    )
    assert snapshot.rows(where=f"STRASSE = 2 AND {SIGMA.upper()} = 3").read_all().num_rows == 1


def test_a_column_of_a_file_is_not_found_by_case_folding(tmp_path: Path) -> None:
    path = write_data(tmp_path, "0.parquet", pa.table({"strasse": [1], "N": [2]}))
    fields = [field("straße", "long"), field("n", "long")]
    write_history(tmp_path, [table_lines(fields), [add(path)]])
    assert open_snapshot(tmp_path).rows().read_all().to_pylist() == [{"straße": None, "n": 2}]
