"""The compiled loop decodes a chunk as Arrow does, or declines it."""

import io
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from headrace.compiled.library import is_built
from headrace.rows.chunk_output import UnusualChunkError
from tests.effort import examples
from tests.engines.damage import flipped, page_bodies
from tests.rows.chunk import decoded, open_chunk, written

pytestmark = pytest.mark.skipif(not is_built(), reason="there is no compiled library")

VALUES = {
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(0, 9),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.date32(): st.integers(-700_000, 2_900_000),
    pa.timestamp("us", "UTC"): st.integers(-(2**60), 2**60),
    pa.timestamp("ms"): st.integers(-(2**50), 2**50),
    pa.string(): st.text(max_size=40) | st.sampled_from(["", "a", "bc"]),
    pa.large_string(): st.text(max_size=4),
    pa.binary(): st.binary(max_size=80),
}
CODECS = ["none", "snappy", "zstd", "gzip"]


@st.composite
def columns(draw: st.DrawFn) -> pa.Array:
    """Draw a column with few or many distinct values, with or without nulls."""
    kind = draw(st.sampled_from(list(VALUES)))
    pool = draw(st.lists(VALUES[kind], min_size=1, max_size=draw(st.sampled_from([2, 60]))))
    choice = st.sampled_from([*pool, None]) if draw(st.booleans()) else st.sampled_from(pool)
    runs = draw(st.lists(st.tuples(choice, st.integers(1, 40)), min_size=1, max_size=60))
    is_shuffled = draw(st.booleans())
    values = [value for value, count in runs for _ in range(1 if is_shuffled else count)]
    return pa.array(values * draw(st.sampled_from([1, 30])), kind)


@st.composite
def files(draw: st.DrawFn, column: pa.Array) -> bytes:
    """Draw a Parquet file of the column, written in any of the usual ways."""
    is_required = column.null_count == 0 and draw(st.booleans())
    field = pa.field("c", column.type, nullable=not is_required)
    return written(
        pa.table([column], schema=pa.schema([field])),
        compression=draw(st.sampled_from(CODECS)),
        use_dictionary=draw(st.booleans()),
        data_page_version=draw(st.sampled_from(["1.0", "2.0"])),
        data_page_size=draw(st.sampled_from([1, 64, 1 << 20])),
        dictionary_pagesize_limit=draw(st.sampled_from([16, 1 << 20])),
        write_batch_size=draw(st.sampled_from([3, 1024])),
        write_page_checksum=draw(st.booleans()),
        store_schema=draw(st.booleans()),
    )


def cut(data: st.DataObject, rows: int) -> list[int]:
    """Draw batch sizes."""
    size = data.draw(st.sampled_from([1, 7, 100, 5000, 100_000]))
    assume(rows / size < 500)
    return [min(size, rows - start) for start in range(0, rows, size)]


@pytest.mark.property
@settings(max_examples=examples(150))
@given(data=st.data())
def test_selected_rows_are_those_that_arrow_decodes(data: st.DataObject) -> None:
    column = data.draw(columns(), label="column")
    content = data.draw(files(column))
    stored = pq.read_table(io.BytesIO(content)).column("c").combine_chunks()
    share = data.draw(st.sampled_from([0, 1, 2, 50, 98, 100]), label="percent kept")
    keep = [(row * 7919 + 13) % 100 < share for row in range(len(column))]
    sizes = cut(data, len(column))
    chunk = open_chunk(content, 0)
    assert chunk is not None
    arrays = list(decoded(chunk, keep, sizes))
    expected = stored.filter(pa.array(keep))
    event(f"{column.type}")
    for array in arrays:
        array.validate(full=True)
    joined = pa.chunked_array(arrays, arrays[0].type if arrays else expected.type)
    assert joined.cast(expected.type).combine_chunks().equals(expected)


@pytest.mark.property
@settings(max_examples=examples(60))
@given(data=st.data())
def test_codes_stand_for_the_values_that_arrow_decodes(data: st.DataObject) -> None:
    column = data.draw(columns(), label="column")
    content = data.draw(files(column))
    stored = pq.read_table(io.BytesIO(content)).column("c").combine_chunks()
    chunk = open_chunk(content, 0)
    assert chunk is not None
    arrays = [chunk.take_codes(size) for size in cut(data, len(column))]
    event("codes" if pa.types.is_dictionary(arrays[0].type) else "values")
    plain = [a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for a in arrays]
    joined = pa.chunked_array([array.cast(stored.type) for array in plain])
    assert joined.combine_chunks().equals(stored)


def test_nulls_survive_where_the_dictionary_of_a_chunk_ends_within_a_batch() -> None:
    texts = [None if number % 3 == 1 else f"{number:09}" for number in range(400)]
    column = pa.array(texts)
    content = written(
        pa.table({"c": column}),
        dictionary_pagesize_limit=600,
        data_page_size=200,
        write_batch_size=20,
    )
    chunk = open_chunk(content, 0)
    assert chunk is not None
    decoded = chunk.take_codes(len(column))
    assert not pa.types.is_dictionary(decoded.type), "the dictionary should have ended"
    assert decoded.equals(column)


@pytest.mark.property
@settings(max_examples=examples(60), deadline=None)
@given(
    kind=st.sampled_from([pa.int32(), pa.int64(), pa.float64()]),
    steps=st.lists(
        st.tuples(st.integers(0, 3) | st.integers(-300, 70_000), st.integers(1, 90)), min_size=1
    ),
    page_bytes=st.sampled_from([200, 1 << 20]),
)
def test_compressed_numbers_that_differ_little_are_those_that_arrow_decodes(
    kind: pa.DataType, steps: list[tuple[int, int]], page_bytes: int
) -> None:
    """Snappy stores these as short literals and copies with small offsets."""
    values = list(accumulate(step for step, count in steps for _ in range(count)))
    content = written(
        pa.table({"c": pa.array(values, kind)}),
        compression="snappy",
        use_dictionary=False,
        data_page_size=page_bytes,
    )
    chunk = open_chunk(content, 0)
    assert chunk is not None
    assert chunk.take(len(values)).to_pylist() == values


@pytest.mark.property
@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_damaged_pages_are_declined_or_decoded_as_arrow_does(data: st.DataObject) -> None:
    column = data.draw(columns(), label="column")
    content = data.draw(files(column))
    pages = page_bodies(content)
    places = [place for bodies in pages.values() for body in bodies for place in body]
    first = min(places)  # page headers are damaged, too
    for place in data.draw(st.lists(st.integers(max(first - 20, 4), max(places)), max_size=30)):
        damaged = flipped(content, place)
        chunk = open_chunk(damaged, 0)
        if chunk is None:
            continue
        try:
            array = chunk.take(len(column))
        except UnusualChunkError:
            continue
        try:
            stored = pq.read_table(io.BytesIO(damaged), page_checksum_verification=True)
        except (pa.ArrowException, OSError):
            event("Arrow declines")
            continue
        expected = stored.column("c").combine_chunks()
        assert array.cast(expected.type).equals(expected) or _has_nan(array)


def _has_nan(array: pa.Array) -> bool:
    return bool(pa.types.is_floating(array.type))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (pa.int64(), {"use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"}),
        (pa.float64(), {"use_dictionary": False, "column_encoding": "BYTE_STREAM_SPLIT"}),
    ],
)
def test_other_encodings_are_declined(kind: pa.DataType, options: dict[str, object]) -> None:
    content = written(pa.table({"c": pa.array(range(100), kind)}), **options)
    chunk = open_chunk(content, 0)
    assert chunk is not None
    with pytest.raises(UnusualChunkError):
        chunk.take(100)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint32(), pa.bool_(), pa.decimal128(9, 2), pa.list_(pa.int32())]
)
def test_other_types_are_left_to_arrow(kind: pa.DataType) -> None:
    assert open_chunk(written(pa.table({"c": pa.array([None], kind)})), 0) is None


def test_pages_without_a_chosen_row_are_not_decompressed() -> None:
    rows = 100_000
    content = written(pa.table({"c": pa.array(range(rows))}), data_page_size=1000)
    body = max(page_bodies(content)["c"], key=lambda page: page.start)
    damaged = flipped(content, body.start)  # the length of the compressed data
    chunk = open_chunk(damaged, 0)
    assert chunk is not None
    assert chunk.take(10).to_pylist() == list(range(10))
    chunk.skip(rows - 20_010)
    assert chunk.take(10).to_pylist() == list(range(rows - 20_000, rows - 19_990))
    with pytest.raises(UnusualChunkError):
        chunk.take(19_990)
