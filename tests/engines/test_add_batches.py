"""The compiled loop reads the same text as Arrow, however the file is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from headrace.compiled.library import is_built
from headrace.engines.arrow.checkpoint import add_batches
from headrace.engines.arrow.checkpoint.add_batches import AddReader, AddSelection
from headrace.engines.arrow.checkpoint.parquet_source import ParquetSource
from headrace.engines.arrow.column_batch import ColumnBatch
from headrace.engines.arrow.plain import plain_batch
from tests.effort import examples
from tests.engines.add_file import (
    ADD,
    COLUMNS,
    TEXTS,
    all_of,
    by_arrow,
    many,
    opened,
    outcome,
    quick,
    selected,
    written,
)

pytestmark = pytest.mark.skipif(not is_built(), reason="built without a compiler")


@pytest.fixture(autouse=True)
def small_columns_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add_batches, "_WORTHWHILE_BYTES", 0)


texts = st.one_of(
    st.text(max_size=9),
    st.integers(0, 3).map(lambda number: f"part-{number:05}.parquet"),
    st.integers(1, 300).map(lambda times: "ä" * times),
)


adds = st.fixed_dictionaries(
    {
        "path": texts,
        "size": st.integers(0, 2**60),
        "partitionValues": st.just([("p", "1")]),
        "stats": st.none() | texts,
    }
)


writers = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(["snappy", "none", "gzip", "zstd", "brotli"]),
        "use_dictionary": st.booleans(),
        "dictionary_pagesize_limit": st.integers(1, 200),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "data_page_size": st.integers(1, 300),
        "write_batch_size": st.integers(1, 9),
        "row_group_size": st.integers(1, 40),
        "write_page_checksum": st.booleans(),
    }
)


@pytest.mark.property
@given(
    st.lists(st.none() | adds, max_size=60),
    writers,
    st.sampled_from([COLUMNS, TEXTS, ("add.path",), ("add.stats", "add.size")]),
    st.integers(1, 70),
)
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_way_of_writing_is_read_the_same(
    tmp_path: Path,
    rows: list[Any],
    options: dict[str, Any],
    columns: tuple[str, ...],
    batch_rows: int,
) -> None:
    path = written(tmp_path / "checkpoint.parquet", rows, **options)
    expected = outcome(by_arrow, path, columns)  # Arrow writes some files that it cannot read
    assert outcome(quick, path, columns, batch_rows=batch_rows) == expected


@pytest.mark.property
@given(
    st.lists(st.none() | adds, max_size=60),
    writers,
    st.integers(1, 70),
    st.tuples(st.integers(0, 3), st.none() | st.lists(st.integers(0, 59))),
)
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_selected_rows_are_decoded(
    tmp_path: Path,
    rows: list[Any],
    options: dict[str, Any],
    batch_rows: int,
    choice: tuple[int, list[int] | None],
) -> None:
    divisor, selection = choice

    def is_wanted(add: Any) -> bool:
        return add is not None and (not divisor or len(add["path"]) % divisor == 0)

    def choose(rows: ColumnBatch) -> ColumnBatch:
        mask = pa.array([is_wanted(add) for add in rows.columns["add"].to_pylist()], pa.bool_())
        return rows.filter(mask)

    mask = None if selection is None else np.isin(np.arange(len(rows)), selection)
    path = written(tmp_path / "checkpoint.parquet", rows, **options)
    assume(isinstance(outcome(by_arrow, path, COLUMNS), pa.Table))  # otherwise Arrow cannot read it
    source, file = opened(path)
    with AddReader.open(source, file, codes=(), batch_rows=batch_rows) as reader:
        size = options["row_group_size"]
        batches = [
            batch
            for group in range(reader.opened.parquet.metadata.num_row_groups)
            for batch in selected(
                reader,
                group,
                AddSelection(
                    columns=COLUMNS,
                    late=("add.stats",),
                    mask=None if mask is None else mask[group * size : (group + 1) * size],
                ),
                choose,
            )
        ]
    selected_rows = range(len(rows)) if mask is None else np.flatnonzero(mask)
    expected = [rows[place] for place in selected_rows if is_wanted(rows[place])]
    stats = [batch.field("stats") or pa.array([]) for batch in batches]
    assert [text for array in stats for text in array.to_pylist()] == [a["stats"] for a in expected]
    assert sum(map(len, batches)) == len(expected)
    decoded = [add for batch in batches for add in batch.columns["add"].to_pylist()]
    assert decoded == expected


def test_arrow_reads_only_the_small_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "checkpoint.parquet", many(100))
    expected, requested = by_arrow(path), list[str]()
    inner = ParquetSource.batches

    def batches(*args: Any, columns: tuple[str, ...], **options: Any) -> Any:
        requested.extend(columns)
        return inner(*args, columns=columns, **options)

    monkeypatch.setattr(ParquetSource, "batches", batches)
    assert quick(path, batch_rows=17) == expected
    assert {name.split(".")[1] for name in requested} == {"size", "partitionValues"}


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_an_unusual_encoding_is_left_to_arrow(tmp_path: Path, encoding: str) -> None:
    path = written(
        tmp_path / "checkpoint.parquet",
        many(50),
        use_dictionary=False,
        column_encoding={"add.stats": encoding},
    )
    assert quick(path) == by_arrow(path)


def test_an_unusual_page_is_left_to_arrow_from_there_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(
        tmp_path / "checkpoint.parquet",
        many(50),
        use_dictionary=False,
        write_batch_size=10,
        data_page_size=1,
    )
    monkeypatch.setattr(add_batches, "_joined", failing_after(4, add_batches._joined))
    assert quick(path) == by_arrow(path)


def failing_after(calls: int, function: Any) -> Any:
    count = [0]

    def wrapper(*args: Any) -> Any:
        count[0] += 1
        if count[0] > calls:
            raise ValueError("unusual")
        return function(*args)

    return wrapper


@pytest.mark.parametrize("add_may_be_null", [True, False])
@pytest.mark.parametrize("path_may_be_null", [True, False])
def test_columns_without_nulls_are_read_the_same(
    tmp_path: Path, *, add_may_be_null: bool, path_may_be_null: bool
) -> None:
    kind = pa.struct([pa.field("path", pa.string(), path_may_be_null), *list(ADD)[1:]])
    schema = pa.schema([pa.field("add", kind, add_may_be_null)])
    path = tmp_path / "checkpoint.parquet"
    rows = [*many(50), *([None] if add_may_be_null else [])]
    pq.write_table(pa.table({"add": pa.array(rows, kind)}, schema=schema), path)
    assert quick(path) == by_arrow(path)


def test_texts_longer_than_the_average_grow_the_buffer(tmp_path: Path) -> None:
    rows = [*many(40), *many(40, stats="x" * 30_000)]
    path = written(tmp_path / "checkpoint.parquet", rows, compression="snappy")
    assert quick(path, batch_rows=80) == by_arrow(path)


def test_a_column_in_use_is_not_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path / "checkpoint.parquet", many(2000), use_dictionary=False)
    source, file = opened(path)
    with AddReader.open(source, file, codes=(), batch_rows=100) as reader:
        batches = [batch for n, batch in enumerate(all_of(reader, 0)) if n % 3 == 0]
    whole = by_arrow(path)
    for n, batch in enumerate(batches):
        assert pa.Table.from_batches([batch]) == whole.slice(n * 300, 100).combine_chunks()


def test_rows_decoded_by_arrow_have_the_type_of_the_rows_before_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = pa.struct([(f.name, pa.large_string()) if f.type == pa.string() else f for f in ADD])
    path = written(tmp_path / "checkpoint.parquet", many(50), large)
    monkeypatch.setattr(add_batches, "_joined", failing_after(4, add_batches._joined))
    source, file = opened(path)
    with AddReader.open(source, file, codes=(), batch_rows=3) as reader:
        batches = [plain_batch(batch) for batch in all_of(reader, 0)]
    assert all(batch.schema == batches[0].schema for batch in batches)
    assert pa.Table.from_batches(batches).to_pydict() == by_arrow(path).to_pydict()
