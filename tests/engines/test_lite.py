"""The Parquet reader without Arrow must return what Arrow returns, or nothing."""

from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.engines.arrow.parquet.action import read_actions
from headrace.engines.arrow.parquet.codec import Codec
from headrace.engines.arrow.parquet.page import read_pages
from headrace.engines.arrow.parquet.thrift import read_struct
from headrace.engines.arrow.parquet.varint import read_varint
from headrace.protocol.action import ACTION_TYPES
from tests.effort import examples
from tests.engines.action_schema import METADATA, NAMES, PROTOCOL
from tests.engines.source import Content


def by_arrow(source: Any) -> dict[str, Any]:
    table = pq.read_table(source)
    actions = {}
    for name in NAMES:
        rows = table[name].to_pylist(maps_as_pydicts="strict") if name in table.schema.names else []
        for row in filter(None, rows):
            fields = {k: v for k, v in row.items() if v is not None}
            actions[name] = msgspec.convert(fields, ACTION_TYPES[name])
    return actions


def test_every_real_checkpoint_is_read_as_by_arrow(fixture_tables: Path) -> None:
    paths = [p for p in fixture_tables.rglob("*.checkpoint*.parquet") if "_delta_log" in str(p)]
    assert paths
    read = 0
    for path in paths:
        actions = read_actions(Content(path), NAMES)
        if actions is not None:
            read += 1
            assert actions == by_arrow(path), path
    assert read > len(paths) // 2


texts = st.one_of(st.none(), st.text(max_size=20), st.just("x" * 3000))
maps = st.one_of(st.none(), st.dictionaries(st.text(min_size=1, max_size=8), texts, max_size=4))
lists = st.one_of(st.none(), st.lists(st.text(max_size=8), max_size=4))


@pytest.mark.property
@given(
    features=lists,
    schema=texts,
    partitions=lists,
    configuration=maps,
    options=maps,
    place=st.integers(0, 30),
    rows=st.integers(2, 40),
    tail_bytes=st.sampled_from([8, 100, 64 << 10]),
    settings_=st.fixed_dictionaries(
        {
            "compression": st.sampled_from(["snappy", "none", "gzip", "zstd", "brotli"]),
            "use_dictionary": st.booleans(),
            "data_page_version": st.sampled_from(["1.0", "2.0"]),
            "row_group_size": st.integers(1, 20),
            "write_page_checksum": st.booleans(),
        }
    ),
)
@settings(max_examples=examples(150))
def test_any_way_of_writing_is_read_the_same(  # noqa: PLR0913, PLR0917
    features: Any,
    schema: Any,
    partitions: Any,
    configuration: Any,
    options: Any,
    place: int,
    rows: int,
    tail_bytes: int,
    settings_: dict[str, Any],
) -> None:
    metadata = {
        "id": "m",
        "schemaString": schema,
        "partitionColumns": partitions,
        "configuration": None if configuration is None else list(configuration.items()),
        "createdTime": 5,
        "format": {
            "provider": "parquet",
            "options": None if options is None else list(options.items()),
        },
    }
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features}
    empty: list[Any] = [None] * rows
    table = pa.table(
        {
            "add": pa.array([{"path": str(i)} for i in range(rows)]),
            "protocol": pa.array(
                [*empty[: place % rows], protocol, *empty[place % rows + 1 :]], PROTOCOL
            ),
            "metaData": pa.array(
                [*empty[: (place + 1) % rows], metadata, *empty[(place + 1) % rows + 1 :]], METADATA
            ),
        }
    )
    sink = BytesIO()
    pq.write_table(table, sink, **settings_)
    actions = read_actions(Content(sink, tail_bytes=tail_bytes), NAMES)
    if actions is None:  # every writer stores a schema, so a missing one is unusual
        assert settings_["compression"] == "brotli" or schema is None
    else:
        sink.seek(0)
        assert actions == by_arrow(sink)


@given(st.binary(max_size=400))
@settings(max_examples=examples(200))
def test_random_bytes_are_declined(rubbish: bytes) -> None:
    assert read_actions(Content(rubbish), NAMES) is None


@pytest.mark.parametrize("name", ["snappy", "gzip", "zstd"])
def test_a_codec_round_trips_and_detects_damage(name: str) -> None:
    whole = b"statistics" * 999
    body, codec = pa.Codec(name).compress(whole, asbytes=True), Codec(name.upper())
    assert codec.decompress(body, len(whole)) == whole
    for damaged, size in ((body[:-9], len(whole)), (body, len(whole) + 1), (body, 1), (body, -1)):
        with pytest.raises(ValueError, match=r"."):
            codec.decompress(damaged, size)


def test_an_uncompressed_page_has_the_size_that_its_header_states() -> None:
    codec = Codec.numbered(0)
    assert codec.decompress(b"abc", 3) == b"abc"
    for size in (2, 4, -1):
        with pytest.raises(ValueError, match=r"."):
            codec.decompress(b"abc", size)


def test_an_unknown_codec_decompresses_nothing() -> None:
    with pytest.raises(ValueError, match="codec 4"):
        Codec.numbered(4).decompress(b"", 0)


def test_a_missing_file_is_reported_by_the_store(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    assert read_actions(Content(path), NAMES) is None


def test_a_damaged_page_is_left_to_arrow(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.parquet"
    rows = pa.array([{"id": "x" * 99, "schemaString": None}], METADATA)
    pq.write_table(pa.table({"metaData": rows}), path, compression="gzip", use_dictionary=False)
    content = bytearray(path.read_bytes())
    page = content.index(b"\x1f\x8b")  # the start of a gzip stream
    content[page + 12 : page + 20] = bytes(8)
    assert read_actions(Content(bytes(content)), ("metaData",)) is None


def arrow_or_error(content: bytes) -> dict[str, Any] | str:
    try:
        return by_arrow(BytesIO(content))
    except (pa.ArrowException, OSError, ValueError, KeyError, msgspec.MsgspecError) as error:
        return str(error)


def test_a_damaged_footer_is_left_to_arrow_or_does_not_matter() -> None:
    protocol = pa.array([{"minReaderVersion": 1, "minWriterVersion": 2}])
    metadata = pa.array([{"id": "a", "schemaString": "{}", "partitionColumns": ["p"]}])
    sink = BytesIO()
    pq.write_table(pa.table({"protocol": protocol, "metaData": metadata}), sink)
    sound = sink.getvalue()
    size = int.from_bytes(sound[-8:-4], "little")
    expected, left_to_arrow = read_actions(Content(sound), NAMES), 0
    assert expected == by_arrow(BytesIO(sound))
    wrong = []
    for place in range(len(sound) - 8 - size, len(sound) - 8):
        for bit in (0, 1, 2, 5, 7):
            damaged = bytearray(sound)
            damaged[place] ^= 1 << bit
            actions = read_actions(Content(bytes(damaged)), NAMES)
            if actions is None:
                left_to_arrow += 1
            elif actions != expected and actions != arrow_or_error(bytes(damaged)):
                wrong.append((place, bit, actions))
    assert wrong == []
    assert left_to_arrow > size


@pytest.mark.parametrize(
    "options", [{"use_dictionary": False}, {"data_page_version": "2.0"}], ids=["plain", "v2"]
)
def test_a_damaged_page_is_left_to_arrow_or_does_not_matter(options: dict[str, Any]) -> None:
    protocol = pa.array([None] * 3 + [{"minReaderVersion": 1, "minWriterVersion": 2}] + [None] * 9)
    metadata = [{"id": "a", "schemaString": "{}", "partitionColumns": ["p"]}]
    table = pa.table({"protocol": protocol, "metaData": pa.array([None] * 12 + metadata)})
    sink = BytesIO()
    pq.write_table(table, sink, **options)
    sound = sink.getvalue()
    expected, left_to_arrow = read_actions(Content(sound), NAMES), 0
    assert expected == by_arrow(BytesIO(sound))
    pages = range(4, len(sound) - 8 - int.from_bytes(sound[-8:-4], "little"))
    for place in pages:
        for bit in (0, 2, 4):
            damaged = bytearray(sound)
            damaged[place] ^= 1 << bit
            actions = read_actions(Content(bytes(damaged)), NAMES)
            if actions is None:
                left_to_arrow += 1
            elif actions != expected:
                assert actions == arrow_or_error(bytes(damaged)), (place, bit)
    assert left_to_arrow > len(pages)


def test_a_page_of_negative_size_does_not_loop_forever() -> None:
    header = bytes([0x15, 0x00, 0x15, 0x00, 0x15, 0x0F, 0x00])  # type 0, sizes 0 and -8
    with pytest.raises(ValueError, match="negative size"):
        list(read_pages(header, is_repeated=False, decompress=lambda body, _: body))


@pytest.mark.parametrize("kind", [0x07, 0x08, 0x05, 0x01], ids=["double", "text", "int", "bool"])
def test_a_list_of_absurd_size_is_refused_at_once(kind: int) -> None:
    with pytest.raises((ValueError, IndexError)):
        read_struct(bytes([0x19, 0xF0 | kind]) + b"\xff" * 5 + b"\x7f\x00")


def test_an_integer_that_does_not_end_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end"):
        read_varint(b"\xff" * 1000, 0)
