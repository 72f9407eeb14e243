"""The compiled decoder returns what fastavro returns, and declines what it does not support."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.avro.codec import Codec, CodecName
from headrace.avro.columns import decode_columns
from headrace.avro.container import Header, RawBlock, read_header, split_blocks
from headrace.avro.field import COLUMN_TYPES
from headrace.avro.manifest import ManifestWriter
from headrace.avro.program import program_for
from headrace.avro.record import decode_block, encode_records
from headrace.compiled.library import is_built
from headrace.errors import CorruptStateError
from headrace.protocol.state import Entry
from headrace.protocol.state_schema import (
    DELTA_ENTRY_SCHEMA,
    ENTRY_FIELDS,
    INDEXTABLES_ENTRY_SCHEMA,
    Schema,
    entry_schema,
)
from tests.avro.entry import delta_entries, entries, entry
from tests.effort import examples

pytestmark = pytest.mark.skipif(not is_built(), reason="the compiled library is not built")
PLAIN = Codec(CodecName.NONE)


def parts(records: list[Entry], schema: Schema, block_entries: int = 3) -> Any:
    writer = ManifestWriter(schema=schema, codec=PLAIN, block_entries=block_entries)
    writer.append(records)
    content = writer.finish().content()
    header = read_header(content, path="m")
    assert header is not None
    return list(split_blocks(content[header.length_bytes :], header)), header


def expected(records: list[Entry], names: list[str]) -> list[dict[str, Any]]:
    return [{name: record[name] for name in names} for record in records]


def rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = batch.to_pylist(maps_as_pydicts="strict")
    return found


@pytest.mark.property
@settings(max_examples=examples(40))
@given(
    st.lists(entries(), min_size=1, max_size=8),
    st.sets(st.sampled_from([f["name"] for f in INDEXTABLES_ENTRY_SCHEMA["fields"]]), min_size=1),
)
def test_any_fields_of_any_entries_are_decoded(records: list[Entry], names: set[str]) -> None:
    blocks, header = parts(records, INDEXTABLES_ENTRY_SCHEMA)
    batch = decode_columns(blocks, header, sorted(names))
    batch.validate(full=True)
    assert rows(batch) == expected(records, sorted(names))
    assert program_for(header.schema, sorted(names)) is not None


@pytest.mark.property
@settings(max_examples=examples(40))
@given(st.lists(delta_entries(), min_size=1, max_size=8))
def test_entries_of_delta_logs_are_decoded(records: list[Entry]) -> None:
    blocks, header = parts(records, DELTA_ENTRY_SCHEMA)
    names = [field["name"] for field in DELTA_ENTRY_SCHEMA["fields"]]
    batch = decode_columns(blocks, header, names)
    batch.validate(full=True)
    assert rows(batch) == expected(records, names)


@pytest.mark.property
@settings(max_examples=examples(150))
@given(st.lists(delta_entries(), min_size=1, max_size=3), st.data())
def test_damaged_records_are_decoded_as_fastavro_does_or_refused(
    records: list[Entry], data: st.DataObject
) -> None:
    blocks, header = parts(records, DELTA_ENTRY_SCHEMA)
    block = blocks[0]
    body = bytearray(block.payload)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "insert"])):
            case "flip":
                body[at] = data.draw(st.integers(0, 255))
            case "cut":
                del body[max(at, 1) :]
            case _:
                body.insert(at, data.draw(st.integers(0, 255)))
    damaged = RawBlock(count=block.count, payload=bytes(body))
    names = [field["name"] for field in DELTA_ENTRY_SCHEMA["fields"]]
    program = program_for(header.schema, names)
    assert program is not None
    columns = program.run([(bytes(body), block.count)])
    if columns is None:
        return
    columns.validate(full=True)
    try:
        slow = decode_block(damaged, header)
    except CorruptStateError:
        pytest.fail("fastavro refuses what the compiled decoder takes")
    # For a duplicate key in a map, the last value counts, as in a dictionary.
    assert columns.to_pylist(maps_as_pydicts="lossy") == expected(slow, names)


def renamed(name: str, other: str) -> Schema:
    fields = [{**f, "name": other} if f["name"] == name else f for f in ENTRY_FIELDS]
    return entry_schema(*fields)


def encoded(records: list[Entry], schema: Schema) -> tuple[list[RawBlock], Header]:
    writer = ManifestWriter(codec=PLAIN)
    writer.append([entry("x")])
    content = writer.finish().content()
    header = read_header(content, path="m")
    assert header is not None
    body = encode_records(records, schema)
    return [RawBlock(count=len(records), payload=body)], Header(
        path="m", schema=schema, codec=PLAIN, sync=header.sync, metadata={}, length_bytes=0
    )


def test_a_renamed_field_is_found_by_its_id() -> None:
    schema = renamed("size", "sizeInBytes")
    record = {**entry("a"), "sizeInBytes": 77}
    assert rows(decode_columns(*encoded([record], schema), ["path", "size"])) == [
        {"path": "a", "size": 77}
    ]


def test_a_field_of_a_newer_writer_is_passed_over() -> None:
    newer = {
        "name": "later",
        "type": ["null", {"type": "array", "items": ["int", "double", "bytes"]}],
        "field-id": 199,
    }
    schema = entry_schema(ENTRY_FIELDS[0], newer, *ENTRY_FIELDS[1:])
    record = {**entry("a"), "later": [1, 2.5, b"xyz"]}
    assert rows(decode_columns(*encoded([record], schema), ["path", "size"])) == [
        {"path": "a", "size": 100}
    ]


def test_a_field_of_a_newer_reader_is_left_out() -> None:
    batch = decode_columns(*encoded([entry("a")], entry_schema(*ENTRY_FIELDS)), ["path", "tags"])
    assert rows(batch) == [{"path": "a"}]


def test_an_int_is_read_as_the_long_that_it_became() -> None:
    fields = [{**f, "type": "int"} if f["name"] == "size" else f for f in ENTRY_FIELDS]
    batch = decode_columns(*encoded([entry("a", size=7)], entry_schema(*fields)), ["size"])
    assert batch.schema.field("size").type == COLUMN_TYPES["size"] == pa.int64()
    assert rows(batch) == [{"size": 7}]


def test_a_field_of_another_type_is_damage() -> None:
    fields = [{**f, "type": "string"} if f["name"] == "size" else f for f in ENTRY_FIELDS]
    with pytest.raises(CorruptStateError, match="size"):
        decode_columns(*encoded([entry("a", size="x")], entry_schema(*fields)), ["size"])


def test_every_field_keeps_its_id() -> None:
    ids = {field["name"]: field["field-id"] for field in INDEXTABLES_ENTRY_SCHEMA["fields"]}
    seed = (100, 101, 102, 103, 104, 110, 111, 112, 113, 120, 121, 124, 132, 134, 135, 136)
    assert tuple(ids.values()) == (*seed, 140, 141, 150, 151, 152)
    assert (ids["path"], ids["stats"], ids["addedAtTimestamp"]) == (100, 110, 141)
