"""If a page has a checksum, no reader accepts a changed byte in it."""

import zlib
from collections.abc import Iterator
from ctypes import c_char_p, c_int64
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.compiled.library import function, is_built
from headrace.compiled.memory import Memory
from headrace.engines.arrow.checkpoint.coded_map import CodedMaps, MapChunks
from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.engines.arrow.checkpoint.text_column import TextColumn
from headrace.engines.arrow.parquet.action import read_actions
from headrace.errors import CorruptCheckpointError
from tests.engines.action_schema import METADATA, NAMES, PROTOCOL
from tests.engines.add_file import by_arrow, many, written
from tests.engines.damage import flipped, page_bodies
from tests.engines.map_file import written as written_maps
from tests.engines.source import Content

ROWS = 60
NAMES_OF_MAPS = ("day", "city")
KEYS, VALUES = (f"add.partitionValues.key_value.{kind}" for kind in ("key", "value"))
needs_library = pytest.mark.skipif(not is_built(), reason="built without a compiler")
every_codec = pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
every_version = pytest.mark.parametrize("version", ["1.0", "2.0"])
coded_or_not = pytest.mark.parametrize("is_coded", [True, False], ids=["coded", "plain"])


def places(pages: list[range]) -> Iterator[int]:
    return chain.from_iterable(pages)


@needs_library
@given(st.binary(max_size=200), st.integers(0, 3))
def test_the_compiled_checksum_is_that_of_zlib(data: bytes, times: int) -> None:
    checksum = function("headrace_crc32", c_char_p, c_int64)
    assert checksum is not None
    assert checksum(data * 9**times, len(data) * 9**times) == zlib.crc32(data * 9**times)


def checkpoint(tmp_path: Path, *, codec: str, is_coded: bool, version: str = "1.0") -> bytes:
    """Return a checkpoint with several pages per column, all with checksums."""
    return written(
        tmp_path / "checkpoint.parquet",
        [*many(ROWS), None],
        compression=codec,
        use_dictionary=is_coded,
        data_page_version=version,
        write_batch_size=20,
        data_page_size=100,
        write_page_checksum=True,
    ).read_bytes()


def paths(content: bytes, mask: Any = None) -> list[str | None]:
    chunk = pq.read_metadata(BytesIO(content)).row_group(0).column(0)
    column = TextColumn(BytesIO(content), chunk, depth=2, memory=Memory())
    values: list[str | None] = column.take(ROWS + 1, mask).values.to_pylist()
    return values


@needs_library
@coded_or_not
@every_codec
def test_compiled_loops_accept_no_text_from_a_changed_page(
    tmp_path: Path, codec: str, *, is_coded: bool
) -> None:
    sound = checkpoint(tmp_path, codec=codec, is_coded=is_coded)
    assert paths(sound) == [*(add["path"] for add in many(ROWS)), None]
    pages = page_bodies(sound)["add.path"]
    assert len(pages) > 3
    for place in places(pages):
        with pytest.raises(ValueError, match="damaged"):
            paths(flipped(sound, place))


@needs_library
@every_codec
def test_a_changed_page_without_selected_rows_does_not_matter(tmp_path: Path, codec: str) -> None:
    sound = checkpoint(tmp_path, codec=codec, is_coded=False)
    first, *_ = page_bodies(sound)["add.path"]
    mask = np.arange(ROWS + 1) == ROWS - 1
    assert paths(flipped(sound, first[0]), mask) == [many(ROWS)[-1]["path"]]


@every_version
@coded_or_not
@every_codec
def test_arrow_verifies_every_page(
    tmp_path: Path, codec: str, version: str, *, is_coded: bool
) -> None:
    sound = checkpoint(tmp_path, codec=codec, is_coded=is_coded, version=version)
    path = tmp_path / "changed.parquet"
    for page in chain.from_iterable(page_bodies(sound).values()):
        path.write_bytes(flipped(sound, page[len(page) // 2]))
        with pytest.raises(CorruptCheckpointError, match="checksum"):
            by_arrow(path)


def maps_of(content: bytes) -> CodedMaps | None:
    chunks = MapChunks.of(Footer(pq.read_metadata(BytesIO(content))), 0, "add.partitionValues")
    return None if chunks is None else chunks.read(BytesIO(content))


def maps(codec: str, version: str) -> bytes:
    rows = [[(name, f"{name}{n % 5}") for name in NAMES_OF_MAPS] for n in range(ROWS)]
    return written_maps(
        rows, compression=codec, data_page_version=version, write_page_checksum=True
    ).getvalue()


@every_version
@every_codec
def test_maps_accept_no_names_or_texts_from_a_changed_page(codec: str, version: str) -> None:
    sound = maps(codec, version)
    sound_maps = maps_of(sound)
    assert sound_maps is not None
    assert sound_maps.keys.names == NAMES_OF_MAPS
    pages = page_bodies(sound)
    for place in places([*pages[KEYS], pages[VALUES][0]]):
        assert maps_of(flipped(sound, place)) is None


@every_version
@every_codec
def test_maps_accept_no_codes_from_a_changed_page(codec: str, version: str) -> None:
    sound = maps(codec, version)
    sound_maps = maps_of(sound)
    assert sound_maps is not None
    verdicts = np.ones((len(NAMES_OF_MAPS), len(sound_maps.texts)), dtype=np.uint8)
    for place in places(page_bodies(sound)[VALUES][1:]):
        pages = sound_maps.pages(BytesIO(flipped(sound, place)), Memory())
        assert pages.judged(verdicts) is None
        with pytest.raises(ValueError, match="checksum"):
            list(pages.codes())


@every_version
@coded_or_not
@every_codec
def test_protocol_and_metadata_are_not_read_from_a_changed_page(
    codec: str, version: str, *, is_coded: bool
) -> None:
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["a", "b"]}
    metadata = {"id": "m", "schemaString": "{}", "partitionColumns": ["p"], "createdTime": 5}
    columns = {
        "protocol": pa.array([protocol, None], PROTOCOL),
        "metaData": pa.array([None, metadata | {"configuration": [("k", "v")]}], METADATA),
    }
    plain, summed = BytesIO(), BytesIO()
    for sink, has_sums in ((plain, False), (summed, True)):
        pq.write_table(
            pa.table(columns),
            sink,
            compression=codec,
            use_dictionary=is_coded,
            data_page_version=version,
            write_page_checksum=has_sums,
        )
    sound = summed.getvalue()
    expected = read_actions(Content(plain), NAMES)
    assert expected is not None
    assert read_actions(Content(summed), NAMES) == expected
    for place in places([*chain.from_iterable(page_bodies(sound).values())]):
        assert read_actions(Content(bytes(flipped(sound, place))), NAMES) is None
