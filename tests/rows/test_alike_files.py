"""Small files that are decoded together return the rows, or the error, that Arrow returns."""

import io
import tempfile
from contextlib import AbstractContextManager
from ctypes import byref
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from headrace.compiled.footer import Footer, footer_loop
from headrace.compiled.library import is_built
from headrace.errors import HeadraceError
from headrace.metrics.meter import Meter
from headrace.rows import alike_file
from headrace.rows.alike_file import AlikeFiles
from headrace.rows.data_file import DataFile, RowSource
from headrace.rows.file_bytes import FileBytes
from headrace.rows.request import RowRequest
from headrace.rows.resolve import MatchBy
from headrace.wiring import open_store
from tests.effort import examples
from tests.engines.damage import flipped
from tests.lake.action import add
from tests.lake.log import write_history
from tests.lake.vector import inline_vector
from tests.listing import open_snapshot
from tests.rows.chunk import written
from tests.rows.lake import field, table_lines, write_data

pytestmark = pytest.mark.skipif(not is_built(), reason="there is no compiled library")

FIELDS = [
    field("id", "long"),
    field("x", "double"),
    field("s", "string"),
    field("d", "date"),
    field("p", "string"),
]
NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""Other byte values do not make damage simpler, so shrinking is of no use."""
CONDITIONS = [
    None,
    "id > 3",
    "s = 'a' OR x < 0",
    "s IS NULL",
    "p = 'one' AND id <> 2",
    "s LIKE 'a%' AND d > DATE'1970-01-05'",
]


def by_arrow_alone() -> AbstractContextManager[Any]:
    """Disable the compiled loop."""
    return patch.object(alike_file, "footer_loop", lambda: None)


@st.composite
def data(draw: st.DrawFn) -> pa.Table:
    """Draw a few rows, in types that writers may use."""
    rows = draw(st.integers(0, 12))

    def column(values: st.SearchStrategy[Any], kind: pa.DataType) -> pa.Array:
        some = values if draw(st.booleans()) else st.none() | values
        return pa.array(draw(st.lists(some, min_size=rows, max_size=rows)), kind)

    numbers = draw(st.sampled_from([pa.int64(), pa.int32()]))
    texts = draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
    columns = {
        "id": column(st.integers(-5, 9), numbers),
        "x": column(st.sampled_from([-1.5, 0.0, 2.25]), pa.float64()),
        "s": column(st.sampled_from(["", "a", "ab", "β" * 40]), texts),
        "d": column(st.integers(-3, 9), pa.date32()),
    }
    if draw(st.integers(0, 5)) == 0:
        del columns["d"]
    return pa.table(columns)


@st.composite
def tables(draw: st.DrawFn, folder: Path) -> list[Path]:
    """Write a table of small files, most of them with the same layout."""
    options = draw(
        st.fixed_dictionaries(
            {
                "compression": st.sampled_from(["snappy", "none", "zstd"]),
                "data_page_version": st.sampled_from(["1.0", "2.0"]),
                "use_dictionary": st.booleans(),
                "write_page_checksum": st.booleans(),
            }
        )
    )
    alike = draw(data())
    lines = []
    for number in range(draw(st.integers(2, 12))):
        table = alike if draw(st.integers(0, 3)) else draw(data())
        name = write_data(folder, f"part-{number}.parquet", table, **options)
        size = (folder / name).stat().st_size
        has_vector = table.num_rows > 0 and draw(st.integers(0, 4)) == 0
        vector = inline_vector([0]) if has_vector else None
        partition = {"p": draw(st.sampled_from(["one", "one", "two", None]))}
        lines.append(add(name, size=size, vector=vector, partition_values=partition))
    write_history(folder, [[*table_lines(FIELDS, partition_columns=["p"]), *lines]])
    return sorted(folder.glob("*.parquet"))


def answer(folder: Path, where: str | None, **options: Any) -> tuple[list[Any], str | None]:
    """Return the rows, and the error that ends the read, if any."""
    rows: list[Any] = []
    with open_snapshot(folder).rows(where=where, **options) as reader:
        try:
            for batch in reader:
                rows += _plain(batch).to_pylist()
        except HeadraceError as error:
            return rows, str(error)
    return rows, None


def _footer_start(content: bytes) -> int:
    """Return the offset of the footer: damage in it can make Arrow crash the process."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Cast texts and dates to bytes and integers: Python may not be able to show damaged ones."""
    plain = {pa.string(): pa.binary(), pa.date32(): pa.int32()}
    kinds = [plain.get(kind, kind) for kind in batch.schema.types]
    return batch.cast(pa.schema(list(zip(batch.schema.names, kinds, strict=True))))


@pytest.mark.property
@settings(max_examples=examples(60), deadline=None)
@given(draw=st.data())
def test_rows_are_those_that_arrow_gives(draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw.draw(tables(folder))
        where = draw.draw(st.sampled_from(CONDITIONS))
        most = draw.draw(st.sampled_from([3, 20, 65_536]))
        with patch.object(AlikeFiles, "note", autospec=True) as note:
            rows = answer(folder, where, rows_per_batch=most)
        with by_arrow_alone():
            expected = answer(folder, where, rows_per_batch=most)
    event("compiled" if any(c.kwargs["was_decoded"] for c in note.mock_calls) else "Arrow")
    assert rows == expected
    assert rows[1] is None


@pytest.mark.property
@settings(max_examples=examples(30), deadline=None, phases=NO_SHRINKING)
@given(draw=st.data())
def test_damaged_files_are_reported_as_arrow_reports_them(draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = draw.draw(tables(folder))
        for _ in range(10):
            file = draw.draw(st.sampled_from(files))
            content = file.read_bytes()
            place = draw.draw(st.integers(0, _footer_start(content) - 1))
            file.write_bytes(flipped(content, place))
            rows = answer(folder, None)
            with by_arrow_alone():
                expected = answer(folder, None)
            file.write_bytes(content)
            event("damage is seen" if expected[1] else "damage is not seen")
            if expected[1] is None or rows[1] is not None:
                assert repr(rows) == repr(expected)
            else:
                event("only Arrow reports it")


@given(table=data(), options=st.sampled_from([{}, {"compression": "none"}]))
def test_footers_are_those_that_arrow_reads(table: pa.Table, options: dict[str, Any]) -> None:
    content = written(table, **options)
    footer = Footer.for_columns(4)
    read = footer_loop()
    assert read is not None
    metadata = pq.read_metadata(io.BytesIO(content))
    assert read(content, len(content), byref(footer)) == int(metadata.num_row_groups == 1)
    if metadata.num_row_groups == 0:
        return
    group = metadata.row_group(0)
    assert (footer.rows, footer.columns) == (group.num_rows, group.num_columns)
    for column in range(group.num_columns):
        chunk, place = group.column(column), footer.places[column]
        assert (place.values, place.data_at) == (chunk.num_values, chunk.data_page_offset)
        assert place.dictionary_at == (chunk.dictionary_page_offset or 0)
        assert place.size_bytes == chunk.total_compressed_size


@given(table=data(), draw=st.data())
def test_damaged_footers_are_declined_or_lead_to_no_other_bytes(
    table: pa.Table, draw: st.DataObject
) -> None:
    content = written(table)
    read = footer_loop()
    assert read is not None
    start = _footer_start(content)
    for place in draw.draw(st.lists(st.integers(start, len(content) - 1), max_size=40)):
        damaged = flipped(content, place)
        footer = Footer.for_columns(4)
        if read(damaged, len(damaged), byref(footer)):
            assert 0 <= footer.columns <= 4
            schema = (footer.schema_at, footer.schema_size)
            optional = [
                (footer.notes_at, footer.notes_size),
                (footer.writer_at, footer.writer_size),
            ]
            fields = [schema, *(field for field in optional if field != (0, 0))]
            assert all(start <= at <= at + size <= len(content) for at, size in fields)


def test_files_of_one_kind_are_decoded_by_the_compiled_loop(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "x": [0.5, None], "s": ["a", None], "d": [None, None]})
    table = table.set_column(3, "d", pa.array([1, None], pa.date32()))
    lines = []
    for number in range(20):
        name = write_data(tmp_path, f"part-{number}.parquet", table)
        size = (tmp_path / name).stat().st_size
        lines.append(add(name, size=size, partition_values={"p": "one"}))
    write_history(tmp_path, [[*table_lines(FIELDS, partition_columns=["p"]), *lines]])
    with patch.object(AlikeFiles, "note", autospec=True) as note:
        rows, error = answer(tmp_path, "s = 'a'")
    assert error is None
    assert [row["id"] for row in rows] == [1] * 20
    decoded = [call.kwargs["was_decoded"] for call in note.mock_calls]
    assert decoded == [True] * 19  # the first file is returned alone, as soon as it is read


def test_a_file_may_be_larger_than_a_declined_one_before_it(tmp_path: Path) -> None:
    lines = []
    for number, rows in enumerate([1, 1, 5000, 1]):
        table = pa.table({"id": pa.array(range(rows), pa.int64())})
        name = write_data(tmp_path, f"part-{number}.parquet", table, use_dictionary=False)
        if number == 1:  # the same footer, but a page that cannot be decoded
            path = tmp_path / name
            path.write_bytes(flipped(path.read_bytes(), 4))
        lines.append(add(name, size=(tmp_path / name).stat().st_size))
    write_history(tmp_path, [[*table_lines([field("id", "long")]), *lines]])
    snapshot = open_snapshot(tmp_path)
    files = [
        DataFile(uri=f"part-{n}.parquet", deletion_vector=None, size_bytes=size)
        for n in (1, 2)
        for size in [(tmp_path / f"part-{n}.parquet").stat().st_size]
    ]
    request = RowRequest(
        schema=snapshot.logical_schema,
        columns=snapshot.logical_schema,
        partition_columns=frozenset(),
        predicate=None,
        match_by=MatchBy.NAME,
        rows_per_batch=65_536,
    )
    files_of_table = FileBytes(open_store(str(tmp_path)))
    source = RowSource(files=files_of_table, request=request, meter=Meter())
    appended = AlikeFiles(source).appending(2)
    assert appended.add(files[0]) is None
    assert appended.add(files[1]) == 5000
    joined = appended.finished()
    assert joined is not None
    assert [batch.num_rows for batch in joined.rows()] == [5000]


def test_a_value_that_does_not_fit_names_its_file(tmp_path: Path) -> None:
    lines = []
    for number in range(6):
        value = 2**40 if number == 4 else number
        name = write_data(tmp_path, f"part-{number}.parquet", pa.table({"n": [value]}))
        lines.append(add(name, size=(tmp_path / name).stat().st_size))
    write_history(tmp_path, [[*table_lines([field("n", "integer")]), *lines]])
    rows, error = answer(tmp_path, None)
    assert [row["n"] for row in rows] == [0, 1, 2, 3]
    assert error is not None
    assert "part-4.parquet" in error
