"""Arrays of plain values are those of pyarrow, and cold reads do not import pandas."""

import subprocess
import sys
from datetime import date
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from headrace.protocol import light
from tests.lake.action import add, opening, remove, statistics
from tests.lake.log import write_history

KINDS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()),
    *(pa.float32(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us")),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
    *(pa.decimal128(5, 2), pa.decimal128(38, 0), pa.decimal256(50, 10)),
]
VALUES = (
    st.integers(-(2**65), 2**65)
    | st.integers(-200, 300)
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.dates()
    | st.decimals(allow_nan=False, min_value=-(10**6), max_value=10**6, places=2)
)
ANY_LISTS = st.sampled_from(
    [st.integers(-200, 300), st.floats(), st.booleans(), st.text(), st.binary(), st.dates(), VALUES]
).flatmap(lambda values: st.lists(st.none() | values, max_size=12))


def outcome(make: Any, values: list[Any], kind: pa.DataType) -> Any:
    try:
        built = make(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, UnicodeError, ValueError) as error:
        return type(error)
    built.validate(full=True)
    return built.type, [repr(value) for value in built.to_pylist()]


@pytest.mark.property
@given(values=ANY_LISTS, kind=st.sampled_from(KINDS))
def test_arrays_and_errors_are_those_of_pyarrow(values: list[Any], kind: pa.DataType) -> None:
    assert outcome(light.array, values, kind) == outcome(pa.array, values, kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_null_has_its_type(kind: pa.DataType) -> None:
    assert light.null(kind).equals(pa.scalar(None, kind))


@pytest.mark.parametrize("value", [True, 7, 1.5, "é", b"\xff", date(2026, 1, 2), Decimal("1.50")])
def test_a_scalar_has_the_type_that_pyarrow_infers(value: object) -> None:
    assert light.scalar(value).equals(pa.scalar(value))


@pytest.mark.property
@given(
    bits=st.lists(st.booleans(), max_size=40),
    start=st.integers(0, 40),
    dtype=st.sampled_from([np.bool_, np.int32, np.int64, np.uint32, np.float64]),
)
def test_numpy_arrays_come_back_also_from_slices(
    bits: list[bool], start: int, dtype: type[Any]
) -> None:
    values = np.array(bits, dtype)
    built = light.from_numpy(values)
    assert built.equals(pa.array(values))
    assert light.to_numpy(built[start:]).tolist() == values[start:].tolist()


def test_masked_numbers_are_null() -> None:
    built = light.from_numpy(np.array([1, 2]), is_null=np.array([True, False]))
    assert built.to_pylist() == [None, 2]


COLD = {
    "files of a partition": "list(snapshot.scan(\"part = 'x'\"))",
    "files by statistics": 'list(snapshot.scan("id > 5"))',
    "files in batches": "list(snapshot.scan().batches())",
    "files in batches under a condition": 'list(snapshot.scan("id > 5").batches())',
    "a count": "snapshot.count()",
    "a count of a partition": "snapshot.count(\"part = 'x'\")",
    "rows": "snapshot.rows().read_all()",
    "rows under a condition": 'snapshot.rows("id > 1 AND n = 1", limit=2).read_all()',
}


def write_table(folder: Path) -> None:
    """Write three files, one without statistics, and a commit that removes another."""
    values: list[dict[str, str | None]] = [{"part": "x", "n": "1"}, {"part": "y", "n": None}]
    adds = []
    for name, partition in zip("abc", [*values, values[0]], strict=True):
        pq.write_table(pa.table({"id": pa.array(range(9), pa.int64())}), folder / name)
        size = (folder / name).stat().st_size
        stats = None if name == "c" else statistics(9)
        adds.append(add(name, size=size, stats=stats, partition_values=partition))
    write_history(folder, [[*opening(), *adds], [remove("a")]])


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
@pytest.mark.parametrize("reading", COLD.values(), ids=COLD)
@pytest.mark.parametrize("base", ["commits", "checkpoint"])
def test_a_cold_read_does_not_import_pandas(tmp_path: Path, base: str, reading: str) -> None:
    write_table(tmp_path)
    if base == "checkpoint":
        DeltaTable(tmp_path, version=0).create_checkpoint()
    script = (
        f"import sys, headrace; snapshot = headrace.Table({str(tmp_path)!r}).snapshot(); {reading};"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
def test_filtering_texts_with_nulls_does_not_import_pandas() -> None:
    """The compiled loop takes no nulls; what does its work must not be slow for its imports."""
    script = (
        "import sys, numpy, pyarrow\n"
        "from headrace.compiled.memory import Memory\n"
        "from headrace.compiled.text_copies import selected_texts\n"
        "texts = pyarrow.StringArray.from_buffers(2, pyarrow.py_buffer(bytes(12)), "
        "pyarrow.py_buffer(b''), pyarrow.py_buffer(b'\\1'), 1)\n"
        "selected = selected_texts(texts, numpy.array([True, False]), Memory())\n"
        "assert selected.to_pylist() == ['']\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
@pytest.mark.parametrize(
    "command",
    [["files", "--where", "part = 'x'"], ["count"], ["rows", "--limit", "2", "--where", "id > 3"]],
    ids=lambda command: command[0],
)
def test_a_command_does_not_import_pandas(tmp_path: Path, command: list[str]) -> None:
    write_table(tmp_path)
    name, *options = command
    script = (
        "import sys\nfrom headrace.cli.main import run\n"
        f"sys.argv = {['headrace', name, str(tmp_path), *options]!r}\n"
        "try:\n    run()\nexcept SystemExit as end:\n    assert not end.code\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
