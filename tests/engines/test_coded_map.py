"""Maps decoded from dictionary codes are those that Arrow builds, or None."""

from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.compiled.memory import Memory
from headrace.engines.arrow.checkpoint.coded_map import MapChunks
from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.engines.arrow.checkpoint.uniform_layout import UniformLayout
from tests.effort import examples
from tests.engines.damage import Damaged
from tests.engines.map_file import NO_ADD, written

MANY = 3000

texts = st.one_of(st.sampled_from(["", "a", "b", "2026-01-01"]), st.text(max_size=6))
writers = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(["none", "snappy", "gzip", "zstd"]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "data_page_size": st.sampled_from([64, 1 << 20]),  # Arrow misreads pages without values
        "use_dictionary": st.sampled_from([True, True, True, False]),
        "dictionary_pagesize_limit": st.sampled_from([1 << 20, 1 << 20, 16]),
        "row_group_size": st.sampled_from([7, 1000, 1 << 20]),
        "write_page_checksum": st.booleans(),
    }
)


def by_code(file: BytesIO) -> list[list[Any] | None]:
    """Return the maps of each row group, or None if they cannot be decoded from their codes."""
    footer = Footer(pq.read_metadata(file))
    groups: list[list[Any] | None] = []
    for group in range(footer.metadata.num_row_groups):
        chunks = MapChunks.of(footer, group, "add.partitionValues")
        maps = None if chunks is None else chunks.read(file)
        groups.append(None)
        if maps is not None:
            try:
                width = len(maps.keys.names)
                pages = maps.pages(file, Memory()).codes()
                rows = [row for page in pages for row in page.rows(width).tolist()]
            except (ValueError, IndexError):
                continue
            built = iter(
                [(name, maps.texts[code]) for name, code in zip(maps.keys.names, row, strict=True)]
                for row in rows
            )
            groups[-1] = [next(built) if is_present else None for is_present in maps.keys.present]
    return groups


def by_arrow(file: BytesIO) -> list[list[Any]]:
    parquet = pq.ParquetFile(file)
    groups = [parquet.read_row_group(n) for n in range(parquet.num_row_groups)]
    return [
        [None if row is None else row["partitionValues"] for row in group["add"].to_pylist()]
        for group in groups
    ]


@pytest.mark.property
@settings(max_examples=examples(100))
@given(
    names=st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    values=st.lists(st.lists(texts, min_size=3, max_size=3), min_size=1, max_size=40),
    odd=st.sampled_from(
        [None, "null map", "null value", "no entry", "other order", "one more", "no add"]
    ),
    times=st.sampled_from([1, 1, MANY // 40]),
    writer=writers,
)
def test_maps_decoded_from_codes_equal_those_of_arrow_or_are_declined(
    names: list[str], values: list[list[str]], odd: str | None, times: int, writer: dict[str, Any]
) -> None:
    maps: list[Any] = [list(zip(names, row, strict=False)) for row in values] * times
    place = len(maps) // 2
    match odd:
        case "null map":
            maps[place] = None
        case "null value":
            maps[place] = [(name, None) for name in names]
        case "no entry":
            maps[place] = []
        case "other order":
            maps[place] = maps[place][::-1]
        case "no add":
            maps[place] = maps[0] = NO_ADD
        case "one more":
            maps[place] = [*maps[place], ("d", "x")]
    file = written(maps, **writer)
    for coded, built in zip(by_code(file), by_arrow(file), strict=True):
        assert coded is None or coded == built


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("distinct", [1, 2, 200, 1000])
def test_uniform_maps_are_recognised_by_their_codes(
    version: str, compression: str, distinct: int
) -> None:
    maps = [[("day", f"d{i % distinct}"), ("city", f"c{i % 3}")] for i in range(MANY)]
    file = written(maps, data_page_version=version, compression=compression)
    assert by_code(file) == by_arrow(file)


def test_entries_that_begin_in_another_row_are_detected() -> None:
    file = written([[("day", "1")], [("city", "2"), ("day", "3"), ("city", "4")]])
    assert by_code(file) == [None]


def test_rows_of_other_actions_are_skipped() -> None:
    maps = [
        NO_ADD if i % 7 == 0 or i < MANY // 4 else [("day", f"d{i % 5}"), ("city", "c")]
        for i in range(MANY)
    ]
    file = written(maps)
    assert by_code(file) == by_arrow(file)


@pytest.mark.parametrize("odd", [None, [], [("day", None)]], ids=["null", "empty", "null value"])
def test_an_add_without_values_is_still_an_add(odd: Any) -> None:
    assert by_code(written([[("day", "1")], odd, [("day", "2")]])) == [None]


@pytest.mark.parametrize("code", [1, 2, 100])
def test_a_code_beyond_the_last_text_is_not_taken_for_null(code: int) -> None:
    keys, items = (
        pa.DictionaryArray.from_arrays(pa.array([0, n], pa.int32()), pa.array(["a"]), safe=False)
        for n in (0, code)
    )
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), keys, items)
    with pytest.raises(pa.ArrowInvalid, match="not in the dictionary"):
        UniformLayout.of(maps)


@pytest.mark.parametrize("code", [-1, 1, 100])
def test_a_code_beyond_the_last_name_is_detected(code: int) -> None:
    keys, items = (
        pa.DictionaryArray.from_arrays(pa.array([n, n], pa.int32()), pa.array(["a"]), safe=False)
        for n in (code, 0)
    )
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), keys, items)
    with pytest.raises(pa.ArrowInvalid, match="not in the dictionary"):
        UniformLayout.of(maps)


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_damage_to_the_dictionaries_is_left_to_arrow(compression: str) -> None:
    """Flip one bit of each byte of the keys, and of the dictionary of the values."""
    maps = [[("day", f"d{i % 3}"), ("city", f"c{i % 2}")] for i in range(40)]
    sound = written(maps, compression=compression).getvalue()
    footer = Footer(pq.read_metadata(BytesIO(sound)))
    keys, values = (
        footer.chunk(0, leaf_column)
        for leaf_column in footer.leaf_columns(("add.partitionValues",))
    )
    assert keys is not None and values is not None  # noqa: PT018
    for place in range(keys.dictionary_page_offset, values.data_page_offset):
        for bit in range(8):
            damaged = bytearray(sound)
            damaged[place] ^= 1 << bit
            chunks = MapChunks.of(footer, 0, "add.partitionValues")
            assert chunks is not None
            coded_maps = chunks.read(BytesIO(damaged))
            assert coded_maps is None or 0 <= coded_maps.size <= values.total_compressed_size


@pytest.mark.parametrize("size", [-(2**40), -1])
@pytest.mark.parametrize("place", [0, 1])
def test_a_chunk_of_negative_size_is_left_to_arrow(size: int, place: int) -> None:
    file = written([[("day", "1")], [("day", "2")]])
    chunks = MapChunks.of(Footer(pq.read_metadata(file)), 0, "add.partitionValues")
    assert chunks is not None
    both = [chunks.keys, chunks.values]
    both[place] = Damaged(both[place], "total_compressed_size", size)
    keys, values = both
    damaged = MapChunks(chunks.rows, keys, values, chunks.definition_levels)
    assert chunks.read(file) is not None
    assert damaged.read(file) is None
