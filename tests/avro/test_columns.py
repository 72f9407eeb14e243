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
from headrace.compiled import avro_columns
from headrace.compiled.avro_columns import Bodies
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


def parts(
    records: list[Entry], schema: Schema, block_entries: int = 3, *, codec: Codec = PLAIN
) -> Any:
    writer = ManifestWriter(schema=schema, codec=codec, block_entries=block_entries)
    writer.append(records)
    content = writer.finish().content()
    header = read_header(content, path="m")
    assert header is not None
    return list(split_blocks(content[header.length_bytes :], header)), header


def expected(records: list[Entry], names: list[str]) -> list[dict[str, Any]]:
    return [{name: record[name] for name in names} for record in records]


def rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    decoded: list[dict[str, Any]] = batch.to_pylist(maps_as_pydicts="strict")
    return decoded


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
    columns = program.run(Bodies([(bytes(body), block.count)], len(body), block.count))
    if columns is None:
        return
    columns.validate(full=True)
    try:
        slow = decode_block(damaged, header)
    except CorruptStateError:
        pytest.fail("fastavro refuses what the compiled decoder takes")
    # For a duplicate key in a map, the last value counts, as in a dictionary.
    assert columns.to_pylist(maps_as_pydicts="lossy") == expected(slow, names)


@pytest.mark.property
@pytest.mark.parametrize("codec", list(CodecName))
@settings(max_examples=examples(20))
@given(st.lists(entries(), min_size=1, max_size=12))
def test_blocks_of_any_codec_are_decoded(codec: CodecName, records: list[Entry]) -> None:
    blocks, header = parts(records, INDEXTABLES_ENTRY_SCHEMA, codec=Codec(codec))
    names = [field["name"] for field in INDEXTABLES_ENTRY_SCHEMA["fields"]]
    assert rows(decode_columns(blocks, header, names)) == expected(records, names)


def test_blocks_that_are_too_large_for_one_pass_are_counted_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(avro_columns, "_MAX_ROOM_BYTES", 0)
    records = [entry(f"f{n}", stats="x" * n if n % 3 else None) for n in range(50)]
    blocks, header = parts(records, INDEXTABLES_ENTRY_SCHEMA, codec=Codec())
    names = [field["name"] for field in INDEXTABLES_ENTRY_SCHEMA["fields"]]
    batch = decode_columns(blocks, header, names)
    batch.validate(full=True)
    assert rows(batch) == expected(records, names)


def test_a_block_whose_stated_size_is_wrong_is_damage() -> None:
    (block,), header = parts([entry("a")], INDEXTABLES_ENTRY_SCHEMA, codec=Codec())
    payload = bytearray(block.payload)
    payload[5] ^= 1  # the size of a frame that is a single segment
    with pytest.raises(CorruptStateError):
        decode_columns([RawBlock(count=1, payload=bytes(payload))], header, ["path"])


@pytest.mark.parametrize("size", [*range(1, 36), 63, 64, 65])
def test_every_byte_of_a_text_is_checked(size: int) -> None:
    schema = {"type": "record", "name": "Entry", "fields": [{"name": "path", "type": "string"}]}
    for at in range(size):
        text = b"x" * at + b"\xff" + b"x" * (size - at - 1)
        body = encode_records([{"path": "x" * size}], schema).replace(b"x" * size, text)
        program = program_for(schema, ["path"])
        assert program is not None
        assert program.run(Bodies([(body, 1)], len(body), 1)) is None
        assert program.run(Bodies([(body * 2, 2)], 2 * len(body), 2)) is None


@given(st.lists(st.text(max_size=40), min_size=1, max_size=20))
def test_texts_of_any_length_are_decoded(texts: list[str]) -> None:
    schema = {"type": "record", "name": "Entry", "fields": [{"name": "path", "type": "string"}]}
    body = encode_records([{"path": text} for text in texts], schema)
    program = program_for(schema, ["path"])
    assert program is not None
    batch = program.run(Bodies([(body, len(texts))], len(body), len(texts)))
    assert batch is not None
    assert batch.column("path").to_pylist() == texts


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


def test_a_field_of_a_newer_writer_is_skipped() -> None:
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


def test_a_field_that_the_file_lacks_is_omitted() -> None:
    batch = decode_columns(*encoded([entry("a")], entry_schema(*ENTRY_FIELDS)), ["path", "tags"])
    assert rows(batch) == [{"path": "a"}]


def test_an_int_is_read_as_the_long_it_was_promoted_to() -> None:
    fields = [{**f, "type": "int"} if f["name"] == "size" else f for f in ENTRY_FIELDS]
    batch = decode_columns(*encoded([entry("a", size=7)], entry_schema(*fields)), ["size"])
    assert batch.schema.field("size").type == COLUMN_TYPES["size"] == pa.int64()
    assert rows(batch) == [{"size": 7}]


def test_a_field_of_another_type_is_damage() -> None:
    fields = [{**f, "type": "string"} if f["name"] == "size" else f for f in ENTRY_FIELDS]
    with pytest.raises(CorruptStateError, match="size"):
        decode_columns(*encoded([entry("a", size="x")], entry_schema(*fields)), ["size"])


@pytest.mark.parametrize("size", [-1, 1 << 31, (1 << 32) - 8, 1 << 32, 1 << 70])
def test_a_fixed_value_of_an_impossible_size_is_damage(size: int) -> None:
    field = {"name": "later", "type": {"type": "fixed", "name": "Later", "size": size}}
    record, schema = entry("a"), entry_schema(*ENTRY_FIELDS, field)
    blocks, _ = encoded([record], entry_schema(*ENTRY_FIELDS))
    _, header = encoded([], schema)
    with pytest.raises(CorruptStateError):
        decode_columns(blocks, header, ["path", "size"])


def test_every_field_keeps_its_id() -> None:
    ids = {field["name"]: field["field-id"] for field in INDEXTABLES_ENTRY_SCHEMA["fields"]}
    seed = (100, 101, 102, 103, 104, 110, 111, 112, 113, 120, 121, 124, 132, 134, 135, 136)
    assert tuple(ids.values()) == (*seed, 140, 141, 150, 151, 152)
    assert (ids["path"], ids["stats"], ids["addedAtTimestamp"]) == (100, 110, 141)
