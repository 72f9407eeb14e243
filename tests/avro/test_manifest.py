"""Manifests are checked by three independent readers: fastavro, DataFusion, pyiceberg."""

import io
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import datafusion
import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.avro.file import AvroFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import Record

from headrace.avro.block_index import decode_index, place_blocks
from headrace.avro.codec import Codec, CodecName
from headrace.avro.container import Header, read_header, split_blocks
from headrace.avro.manifest import ManifestWriter, WrittenManifest
from headrace.avro.record import decode_block
from headrace.protocol.state import Entry
from headrace.protocol.state_schema import DELTA_ENTRY_SCHEMA, INDEXTABLES_ENTRY_SCHEMA
from tests.avro.entry import PARTITION, delta_entries, entries, entry


def write(records: Sequence[Entry], **options: Any) -> WrittenManifest:
    writer = ManifestWriter(**options)
    writer.append(records)
    return writer.finish()


def header_of(content: bytes) -> Header:
    header = read_header(content, path="m.avro")
    assert header is not None
    return header


def read(content: bytes) -> list[Entry]:
    header = header_of(content)
    blocks = split_blocks(content[header.length_bytes :], header)
    return [record for block in blocks for record in decode_block(block, header)]


@settings(max_examples=40)
@given(st.lists(entries(), max_size=12), st.sampled_from(CodecName))
def test_fastavro_reads_what_was_written(records: list[Entry], codec: CodecName) -> None:
    content = write(records, codec=Codec(codec), block_entries=7).content()
    assert list(fastavro.reader(io.BytesIO(content))) == records
    assert read(content) == records


@settings(max_examples=30)
@given(st.lists(delta_entries(), max_size=8))
def test_the_fields_of_a_delta_entry_survive(records: list[Entry]) -> None:
    content = write(records, schema=DELTA_ENTRY_SCHEMA).content()
    assert list(fastavro.reader(io.BytesIO(content))) == read(content) == records


@pytest.mark.parametrize("codec", CodecName)
def test_datafusion_reads_what_was_written(codec: CodecName, tmp_path: Path) -> None:
    records = [entry(f"{i}.split", partition={"date": "2026-01-01"}) for i in range(300)]
    path = tmp_path / "m.avro"
    path.write_bytes(write(records, codec=Codec(codec), block_entries=50).content())
    table = datafusion.SessionContext().read_avro(str(path)).to_arrow_table()
    rows = [{**row, "partitionValues": dict(row["partitionValues"])} for row in table.to_pylist()]
    assert rows == records


@settings(max_examples=20)
@given(st.lists(delta_entries(), max_size=6))
def test_iceberg_reads_what_was_written(tmp_path_factory: Any, records: list[Entry]) -> None:
    path = tmp_path_factory.mktemp("m") / "m.avro"
    path.write_bytes(write(records, schema=DELTA_ENTRY_SCHEMA).content())
    with AvroFile[Record](PyArrowFileIO().new_input(str(path))) as file:
        names = [field.name for field in file.schema.fields]
        rows = [{name: row[i] for i, name in enumerate(names)} for row in file]
    for row in rows:
        vector = row["deletionVector"]
        if vector is not None:
            kinds = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
            row["deletionVector"] = {name: vector[i] for i, name in enumerate(kinds)}
    assert rows == records


def test_an_empty_manifest_has_no_entry() -> None:
    written = write([])
    assert read(written.content()) == []
    assert written.info.num_entries == 0


def test_an_old_reader_of_eighteen_fields_reads_newer_files() -> None:
    records = [entry("a", docMappingRef="x"), entry("b")]
    old = {**INDEXTABLES_ENTRY_SCHEMA, "fields": INDEXTABLES_ENTRY_SCHEMA["fields"][:18]}
    rows: list[Any] = list(fastavro.reader(io.BytesIO(write(records).content()), old))
    assert [row["path"] for row in rows] == ["a", "b"]
    assert set(rows[0]) == {field["name"] for field in old["fields"]}


def test_a_block_ends_where_the_partition_changes() -> None:
    days = [f"2026-01-{day:02}" for day in range(1, 6)]
    records = [entry(f"{d}/{i}", partition={"date": d}) for d in days for i in range(200)]
    blocks = write(records, partition_types=PARTITION).blocks
    assert [block.count for block in blocks] == [200] * 5
    assert [b.bounds["date"].min for b in blocks if b.bounds is not None] == days


def test_small_partitions_share_a_block() -> None:
    records = [entry(str(i), partition={"date": f"2026-{i % 12 + 1:02}-01"}) for i in range(300)]
    assert [b.count for b in write(records, partition_types=PARTITION).blocks] == [128, 128, 44]


def test_the_index_places_every_block() -> None:
    written = write([entry(str(i)) for i in range(1000)], block_entries=100)
    content = written.content()
    header = header_of(content)
    index = decode_index(header)
    assert index == written.blocks
    paths = []
    for place in place_blocks(index or (), header):
        (block,) = split_blocks(content[place.start : place.stop], header)
        rows = decode_block(block, header)
        assert (place.block.min_path, place.block.max_path) == (
            min(row["path"] for row in rows),
            max(row["path"] for row in rows),
        )
        paths += [row["path"] for row in rows]
    assert paths == [str(i) for i in range(1000)]


def test_copied_blocks_are_the_same_records() -> None:
    first, second = ([entry(f"{name}{i}") for i in range(50)] for name in "ab")
    writer = ManifestWriter()
    for records in (first, second):
        content = write(records, block_entries=20).content()
        header = header_of(content)
        blocks = split_blocks(content[header.length_bytes :], header)
        for block, index in zip(blocks, decode_index(header) or (), strict=True):
            writer.append_block(block, index)
    copied = writer.finish()
    assert list(fastavro.reader(io.BytesIO(copied.content()))) == first + second
    assert copied.info.num_entries == 100


def test_the_description_of_a_manifest_matches_its_content() -> None:
    records = [entry("a", size=5, addedAtVersion=3), entry("b", size=7, addedAtVersion=9)]
    written = write(records)
    info, content = written.info, written.content()
    assert (info.num_entries, info.live_entry_count, info.live_bytes) == (2, 2, 12)
    assert (info.min_added_at_version, info.max_added_at_version) == (3, 9)
    assert info.length_bytes == len(content)
    assert info.sha256 == sha256(content).hexdigest()
    assert info.header_bytes == header_of(content).length_bytes


def test_the_size_of_a_manifest_is_estimated_while_it_is_written() -> None:
    writer = ManifestWriter(block_entries=10)
    for number in range(95):
        writer.append([entry(f"part-{number}")])
    estimate = writer.size_bytes
    written = writer.finish()
    blocks_bytes = written.info.length_bytes - written.info.header_bytes
    assert 0 < blocks_bytes - estimate <= max(block.length_bytes for block in written.blocks)


def test_entries_without_a_version_inherit_one() -> None:
    records = [entry("a", addedAtVersion=0), entry("b", addedAtVersion=2)]
    written = write(records, added_at_version=8)
    assert (written.info.min_added_at_version, written.info.max_added_at_version) == (2, 8)
    assert written.blocks[0].added_at_version == 8
