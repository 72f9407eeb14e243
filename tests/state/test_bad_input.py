"""Hostile and damaged files: a typed error that names the file, never a wrong answer."""

import shutil
from pathlib import Path

import fastavro
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.avro.codec import Codec, CodecName
from headrace.avro.container import (
    MAGIC,
    RawBlock,
    read_header,
    split_blocks,
    write_header,
)
from headrace.avro.manifest import ManifestWriter
from headrace.avro.record import decode_block
from headrace.avro.state_file import decode_state, encode_state
from headrace.avro.varint import write_long
from headrace.errors import (
    CorruptStateError,
    HeadraceError,
    UnsafePathError,
    UnsupportedStateError,
)
from headrace.protocol.state import StateManifest
from headrace.protocol.state_schema import INDEXTABLES_ENTRY_SCHEMA, Schema
from tests.avro.entry import entry
from tests.effort import examples

NAME = "02_five_appends"
STATE = "_transaction_log/state-v00000000000000000005/_manifest.avro"


@pytest.fixture
def table(fixture_indextables: Path, tmp_path: Path) -> Path:
    shutil.copytree(fixture_indextables / NAME, tmp_path / "t")
    return tmp_path / "t"


def manifest_of(table: Path) -> Path:
    with (table / STATE).open("rb") as file:
        state = next(iter(fastavro.reader(file)))
    assert isinstance(state, dict)
    return table / "_transaction_log" / str(state["manifests"][0]["path"])


def scan(table: Path) -> list[str]:
    return sorted(file.path for file in headrace.Table(table).snapshot().scan())


def test_a_missing_manifest_is_named(table: Path) -> None:
    manifest = manifest_of(table)
    manifest.unlink()
    with pytest.raises(CorruptStateError, match=manifest.name):
        scan(table)


def test_a_corrupt_header_is_named(table: Path) -> None:
    manifest = manifest_of(table)
    manifest.write_bytes(b"nonsense" + manifest.read_bytes()[8:])
    with pytest.raises(CorruptStateError, match=manifest.name):
        scan(table)


def test_a_manifest_truncated_at_a_block_boundary_is_detected(table: Path) -> None:
    manifest = manifest_of(table)
    content = manifest.read_bytes()
    header = read_header(content, path="m")
    assert header is not None
    manifest.write_bytes(content[: header.length_bytes])
    with pytest.raises(CorruptStateError, match="0 entries, but its state records 2"):
        scan(table)


def test_a_wrong_sync_marker_is_detected(table: Path) -> None:
    manifest = manifest_of(table)
    content = bytearray(manifest.read_bytes())
    content[-1] ^= 1
    manifest.write_bytes(content)
    with pytest.raises(CorruptStateError, match="sync marker"):
        scan(table)


def change_state(table: Path, **fields: object) -> None:
    path = table / STATE
    state: StateManifest = decode_state(path.read_bytes(), path="s")
    path.write_bytes(encode_state(msgspec.structs.replace(state, **fields)))


def test_wrong_counts_are_detected(table: Path) -> None:
    state: StateManifest = decode_state((table / STATE).read_bytes(), path="s")
    first = msgspec.structs.replace(state.manifests[0], num_entries=3)
    change_state(table, manifests=(first, *state.manifests[1:]))
    with pytest.raises(CorruptStateError, match="state records 3"):
        scan(table)


def test_a_state_of_another_version_is_detected(table: Path) -> None:
    change_state(table, state_version=4)
    with pytest.raises(CorruptStateError, match="of version 4"):
        scan(table)


def test_an_unknown_format_version_is_refused(table: Path) -> None:
    change_state(table, format_version=2)
    with pytest.raises(UnsupportedStateError, match="format version is 2"):
        scan(table)


def test_a_newer_protocol_version_is_refused(table: Path) -> None:
    change_state(table, protocol_version=5)
    with pytest.raises(UnsupportedStateError, match="protocol version is 5"):
        scan(table)


def test_a_manifest_that_is_named_twice_is_damage(table: Path) -> None:
    state: StateManifest = decode_state((table / STATE).read_bytes(), path="s")
    change_state(table, manifests=(*state.manifests, state.manifests[0]))
    with pytest.raises(CorruptStateError, match="names a manifest twice"):
        scan(table)


def test_a_state_that_lacks_manifests_is_damage(table: Path) -> None:
    state: StateManifest = decode_state((table / STATE).read_bytes(), path="s")
    change_state(table, manifests=state.manifests[1:])
    with pytest.raises(CorruptStateError, match=r"records 10 files, but .* 8 entries"):
        scan(table)


@pytest.mark.parametrize(
    "path", ["../x.avro", "manifests/../../x.avro", "/etc/passwd", "file:///x", "a//b", ""]
)
def test_a_path_that_leads_out_of_the_log_is_refused(table: Path, path: str) -> None:
    state: StateManifest = decode_state((table / STATE).read_bytes(), path="s")
    first, *others = state.manifests
    change_state(table, manifests=(msgspec.structs.replace(first, path=path), *others))
    with pytest.raises(UnsafePathError):
        scan(table)


def test_a_truncated_version_file_is_damage(table: Path) -> None:
    first = table / "_transaction_log/00000000000000000000.json"
    first.write_bytes(first.read_bytes()[:-30])
    with pytest.raises(HeadraceError, match=first.name):
        scan(table)


def nested(depth: int) -> Schema:
    kind: object = "string"
    for _ in range(depth):
        kind = {"type": "array", "items": kind}
    return {"type": "record", "name": "FileEntry", "fields": [{"name": "path", "type": kind}]}


def record(name: str, *kinds: object) -> Schema:
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(kinds)]
    return {"type": "record", "name": name, "fields": fields}


def doubling(levels: int) -> Schema:
    """Return records that contain the previous one twice; the first is empty."""
    others = (record(f"r{n}", f"r{n - 1}", f"x.r{n - 1}") for n in range(1, levels))
    return record("FileEntry", record("r0"), *others)


def test_a_recursive_state_is_refused_before_it_is_decoded(table: Path) -> None:
    schema = record("StateManifest", ["null", "StateManifest"])
    payload = b"\2" * 200_000 + b"\0"  # it would overflow the stack
    (table / STATE).write_bytes(
        header_with(schema) + RawBlock(count=1, payload=payload).framed(b"0" * 16)
    )
    with pytest.raises(CorruptStateError, match="recursive"):
        scan(table)


def header_with(schema: Schema) -> bytes:
    return write_header(schema, Codec(CodecName.NONE), b"0" * 16, metadata={})


@pytest.mark.parametrize(
    "content",
    [
        header_with(nested(200)),
        header_with(nested(90)),
        header_with(record("E", ["null", {"type": "array", "items": "E"}])),
        header_with(doubling(40)),
        header_with(
            {
                "type": "record",
                "name": "E",
                "fields": [{"name": "x", "type": {"type": "array", "items": "null"}}],
            }
        ),
        header_with({"type": "record", "name": "E", "fields": [{"type": "string"}]}),
        header_with({"type": "record", "name": "E", "fields": {"path": "string"}}),
        MAGIC + write_long(1 << 50),
        MAGIC + write_long(1) + write_long(1 << 40),
        MAGIC + b"\xff" * 12,
        b"PAR1" + b"\0" * 40,
    ],
)
def test_hostile_headers_are_refused(content: bytes) -> None:
    with pytest.raises(CorruptStateError):
        read_header(content, path="m")


def test_an_unknown_codec_is_refused_by_name() -> None:
    header = header_with(INDEXTABLES_ENTRY_SCHEMA).replace(b"\x08null", b"\x08lzma", 1)
    with pytest.raises(UnsupportedStateError, match="lzma"):
        read_header(header, path="m")


def test_a_block_with_impossible_counts_is_refused() -> None:
    header = read_header(header_with(INDEXTABLES_ENTRY_SCHEMA), path="m")
    assert header is not None
    for frame in (
        write_long(1 << 40) + write_long(10),
        write_long(1) + write_long(1 << 60),
        write_long(-5) + write_long(10),
        write_long(5) + write_long(-1),
    ):
        with pytest.raises(CorruptStateError):
            list(split_blocks(frame + b"x" * 40, header))


def test_a_block_that_would_fill_the_memory_is_refused() -> None:
    codec = Codec(CodecName.ZSTD)
    with pytest.raises(ValueError, match="more than"):
        codec.decompress(codec.compress(b"\0" * (1 << 22)), limit=1 << 20)


@pytest.mark.property
def test_a_damaged_manifest_is_decoded_or_refused_with_a_typed_error() -> None:
    """Only the digest in a state proves that the values of a manifest are unchanged."""
    answers = refusals = 0

    @settings(max_examples=examples(150))
    @given(st.data(), st.sampled_from(CodecName))
    def check(data: st.DataObject, codec: CodecName) -> None:
        nonlocal answers, refusals
        writer = ManifestWriter(codec=Codec(codec), block_entries=2)
        writer.append([entry(f"{i}.split") for i in range(5)])
        content = bytearray(writer.finish().content())
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(content) - 1))
            content[at] ^= data.draw(st.integers(1, 255))
        try:
            header = read_header(bytes(content), path="m")
            if header is None:  # the file seems to end within its header
                return
            blocks: list[RawBlock] = list(split_blocks(content[header.length_bytes :], header))
            for block in blocks:
                assert len(decode_block(block, header)) == block.count
        except HeadraceError:
            refusals += 1
        else:
            answers += 1

    check()
    assert answers > 0
    assert refusals > 0
