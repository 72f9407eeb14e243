"""The compiled loop evaluates maps by their codes, with the same verdicts as row by row."""

import zlib
from typing import Any

import msgspec.structs
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.compiled.library import is_built
from headrace.compiled.memory import Memory
from headrace.engines.arrow.checkpoint.coded_map import MapChunks, MapPages
from headrace.engines.arrow.checkpoint.footer import Footer
from tests.effort import examples
from tests.engines.map_file import written

pytestmark = pytest.mark.skipif(not is_built(), reason="built without a compiler")


def coded(maps: list[Any], **writer: Any) -> MapPages:
    file = written(maps, **writer)
    chunks = MapChunks.of(Footer(pq.read_metadata(file)), 0, "add.partitionValues")
    assert chunks is not None
    coded_maps = chunks.read(file)
    assert coded_maps is not None
    return coded_maps.pages(file, Memory())


def by_rows(maps: MapPages, verdicts: npt.NDArray[np.uint8]) -> list[bool] | None:
    """Evaluate the codes one by one; return None if they are invalid."""
    values = len(verdicts)
    try:
        rows = [row for page in maps.codes() for row in page.rows(values).tolist()]
    except ValueError:
        return None
    if len(rows) != maps.maps.keys.count or any(
        code >= len(maps.maps.texts) for row in rows for code in row
    ):
        return None
    return [all(verdicts[value, code] for value, code in enumerate(row)) for row in rows]


def judged(maps: MapPages, verdicts: npt.NDArray[np.uint8]) -> list[bool] | None:
    judgement = maps.judged(verdicts)
    return None if judgement is None else judgement.tolist()


def some_verdicts(maps: MapPages, seed: int) -> npt.NDArray[np.uint8]:
    shape = (len(maps.maps.keys.names), len(maps.maps.texts))
    return np.random.default_rng(seed).integers(0, 2, shape, dtype=np.uint8)


def uniform(rows: int, values: int, distinct: int, stretch: int) -> list[Any]:
    """Return maps of `values` values, each of which stays the same for `stretch` rows."""
    names = "abcde"[:values]
    return [
        [(name, f"{name}{zlib.crc32(bytes([n // stretch % 251, i])) % distinct}")
         for i, name in enumerate(names)]
        for n in range(rows)
    ]  # fmt: skip


writers = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(["none", "snappy"]),
        "data_page_size": st.sampled_from([64, 4096, 1 << 20]),
        "write_batch_size": st.sampled_from([8, 1000]),
        "write_page_checksum": st.booleans(),
    }
)


@pytest.mark.property
@settings(max_examples=examples(150))
@given(
    rows=st.integers(1, 3000),
    values=st.integers(1, 5),
    distinct=st.sampled_from([1, 2, 3, 20, 200]),
    stretch=st.sampled_from([1, 1, 7, 5000]),
    writer=writers,
    seed=st.integers(0, 99),
)
def test_verdicts_are_those_of_the_codes(  # noqa: PLR0913, PLR0917
    rows: int, values: int, distinct: int, stretch: int, writer: dict[str, Any], seed: int
) -> None:
    maps = coded(uniform(rows, values, distinct, stretch), **writer)
    verdicts = some_verdicts(maps, seed)
    judgement, bits = judged(maps, verdicts), (len(maps.maps.texts) - 1).bit_length()
    # The loop declines codes of many bits. If a page ends within a map, both return None.
    assert judgement == by_rows(maps, verdicts) or (judgement is None and bits * values > 16)


@pytest.mark.property
@settings(max_examples=examples(300))
@given(
    distinct=st.sampled_from([2, 20]),
    stretch=st.sampled_from([1, 40]),
    compression=st.sampled_from(["none", "snappy"]),
    place=st.integers(0, 10**6),
    flip=st.integers(1, 255),
    cut=st.booleans(),
)
def test_damage_is_declined_or_gives_the_same_verdicts(  # noqa: PLR0913
    distinct: int, stretch: int, compression: str, place: int, flip: int, *, cut: bool
) -> None:
    sound = coded(uniform(900, 2, distinct, stretch), compression=compression, data_page_size=200)
    verdicts = some_verdicts(sound, place)
    pages = bytearray(sound.data)
    at = place % len(pages)
    pages[at] ^= flip
    maps = msgspec.structs.replace(sound, data=bytes(pages[:at] if cut else pages))
    judgement = judged(maps, verdicts)
    assert judgement is None or judgement in (by_rows(maps, verdicts), by_rows(sound, verdicts))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
def test_pages_of_other_kinds_are_declined(version: str, compression: str) -> None:
    maps = coded(uniform(500, 2, 9, 1), data_page_version=version, compression=compression)
    judgement = judged(maps, some_verdicts(maps, 1))
    assert (judgement is None) == (version == "2.0" or compression in {"gzip", "zstd"})


def test_values_without_dictionary_codes_are_declined() -> None:
    maps = coded(uniform(3000, 1, 200, 1), dictionary_pagesize_limit=64, write_batch_size=8)
    assert judged(maps, some_verdicts(maps, 1)) is None


def test_a_code_beyond_the_last_text_is_declined() -> None:
    maps = coded(uniform(500, 2, 9, 1))
    last = msgspec.structs.replace(maps.maps, texts=maps.maps.texts[:-1])
    fewer = msgspec.structs.replace(maps, maps=last)
    assert judged(maps, some_verdicts(maps, 1)) is not None
    assert judged(fewer, some_verdicts(fewer, 1)) is None
