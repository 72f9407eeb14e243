"""Columns are encoded to the same bytes as the records they hold."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.avro.column_encoder import encode_columns
from headrace.avro.field import COLUMN_TYPES
from headrace.avro.record import encode_records
from headrace.protocol.state import Entry
from headrace.protocol.state_schema import (
    DELTA_ENTRY_SCHEMA,
    INDEXTABLES_ENTRY_SCHEMA,
    Schema,
    entry_schema,
)
from tests.avro.entry import LONGS, delta_entries, entries, entry
from tests.effort import examples


def columns(records: list[Entry], schema: Schema) -> dict[str, pa.Array]:
    arrays = {}
    for field in schema["fields"]:
        name = field["name"]
        values: list[Any] = [record[name] for record in records]
        if pa.types.is_map(COLUMN_TYPES[name]):
            values = [None if value is None else list(value.items()) for value in values]
        arrays[name] = pa.array(values, COLUMN_TYPES[name])
    return arrays


def encoded(records: list[Entry], schema: Schema) -> bytes:
    return encode_columns(columns(records, schema), schema).body(0, len(records))


@pytest.mark.property
@settings(max_examples=examples(60))
@given(st.lists(entries(), min_size=1, max_size=12))
def test_entries_of_indextables_are_encoded_as_fastavro_does(records: list[Entry]) -> None:
    assert encoded(records, INDEXTABLES_ENTRY_SCHEMA) == encode_records(
        records, INDEXTABLES_ENTRY_SCHEMA
    )


@pytest.mark.property
@settings(max_examples=examples(60))
@given(st.lists(delta_entries(), min_size=1, max_size=12), st.data())
def test_any_range_of_sliced_columns_is_encoded_as_fastavro_does(
    records: list[Entry], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(records)))
    stop = data.draw(st.integers(start, len(records)))
    first = data.draw(st.integers(0, start))
    arrays = columns(records, DELTA_ENTRY_SCHEMA)
    sliced = {name: array.slice(first) for name, array in arrays.items()}
    body = encode_columns(sliced, DELTA_ENTRY_SCHEMA).body(start - first, stop - first)
    assert body == encode_records(records[start:stop], DELTA_ENTRY_SCHEMA)


@given(st.lists(LONGS, min_size=1, max_size=40))
def test_numbers_of_every_length_are_encoded(numbers: list[int]) -> None:
    edges = [s * (1 << n) + d for n in range(63) for s in (1, -1) for d in (-1, 0, 1)]
    values = [*numbers, *(edge for edge in edges if -(2**63) <= edge < 2**63)]
    schema = entry_schema({"name": "size", "type": "long"})
    arrays = {"size": pa.array(values, pa.int64())}
    expected = encode_records([{"size": value} for value in values], schema)
    assert encode_columns(arrays, schema).body(0, len(values)) == expected


def test_a_dictionary_is_encoded_as_its_values() -> None:
    schema = entry_schema({"name": "partitionValues", "type": {"type": "map", "values": "string"}})
    maps = pa.array([[("a", "x")], [], [("a", "y"), ("b", "z")]], pa.map_(pa.string(), pa.string()))
    rows = [2, 0, 1, 0]
    coded = pa.DictionaryArray.from_arrays(pa.array(rows, pa.int32()), maps)
    records = [{"partitionValues": dict(maps[row].as_py())} for row in rows]
    body = encode_columns({"partitionValues": coded}, schema).body(0, len(rows))
    assert body == encode_records(records, schema)


def test_a_field_without_a_column_has_its_default() -> None:
    arrays = columns([entry("a")], INDEXTABLES_ENTRY_SCHEMA)
    for name in ("hasFooterOffsets", "stats", "companionSourceFiles"):
        del arrays[name]
    body = encode_columns(arrays, INDEXTABLES_ENTRY_SCHEMA).body(0, 1)
    assert body == encode_records([entry("a")], INDEXTABLES_ENTRY_SCHEMA)


def test_a_column_that_is_required_and_missing_is_an_error() -> None:
    arrays = columns([entry("a")], INDEXTABLES_ENTRY_SCHEMA)
    del arrays["size"]
    with pytest.raises(ValueError, match="no column size"):
        encode_columns(arrays, INDEXTABLES_ENTRY_SCHEMA)


def test_a_null_in_a_required_field_is_an_error() -> None:
    schema = entry_schema({"name": "size", "type": "long"})
    with pytest.raises(ValueError, match="null"):
        encode_columns({"size": pa.array([1, None], pa.int64())}, schema)
