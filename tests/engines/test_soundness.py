"""Footers whose column chunks Arrow could not decode are refused, and never end the process."""

import struct
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.compiled.soundness import soundness_check
from headrace.engines.arrow.parquet import soundness
from headrace.engines.arrow.parquet.soundness import (
    UnsoundFooterError,
    check_footer,
    check_footer_of,
)
from headrace.errors import CorruptCheckpointError, CorruptDataFileError, HeadraceError
from tests.lake.action import add, metadata, opening, protocol
from tests.lake.checkpoint import write_checkpoint
from tests.lake.log import commit_path, state_at, write_history
from tests.listing import open_snapshot

_END = 8
_DATA = pa.table(
    {
        "id": [1, None, 3],
        "text": ["a", "b", None],
        "list": [[1], [], None],
        "map": pa.array([[("k", "v")], None, []], pa.map_(pa.string(), pa.string())),
        "nested": [{"x": 1.5, "y": {"z": "a"}}, None, {"x": None, "y": None}],
        "flag": [True, None, False],
        "money": pa.array([Decimal("1.50"), None, None], pa.decimal128(20, 2)),
    }
)


def stored(data: pa.Table, **options: Any) -> bytes:
    sink = BytesIO()
    pq.write_table(data, sink, **options)
    return sink.getvalue()


def footer_of(content: bytes) -> bytes:
    (length,) = struct.unpack("<I", content[-_END:-4])
    return content[-_END - length : -_END]


def with_footer(content: bytes, footer: bytes) -> bytes:
    body = content[: -_END - len(footer_of(content))]
    return body + footer + struct.pack("<I", len(footer)) + b"PAR1"


@pytest.fixture(params=["compiled", "general"])
def check(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    if request.param == "general":
        monkeypatch.setattr(soundness, "soundness_check", lambda: None)
    return check_footer


def with_longer_histogram(content: bytes, counts: list[int]) -> bytes:
    """Return the file with one count more in the first level histogram with these counts."""
    numbers = bytes(2 * count for count in counts)
    histogram = bytes([len(counts) << 4 | 6]) + numbers  # a short list of 64-bit integers
    longer = bytes([len(counts) + 1 << 4 | 6, 0]) + numbers
    footer = footer_of(content)
    assert histogram in footer
    return with_footer(content, footer.replace(histogram, longer, 1))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 1, "write_page_index": True},
        {"use_dictionary": False, "compression": "none", "store_decimal_as_integer": True},
        {"write_statistics": False, "data_page_version": "2.0"},
    ],
)
def test_a_sound_footer_passes_both_checks(
    check: Callable[..., None], options: dict[str, Any]
) -> None:
    content = stored(_DATA, **options)
    check(footer_of(content))
    check_footer_of(BytesIO(content))


def test_the_compiled_check_decides_alone_for_sound_footers() -> None:
    is_sound = soundness_check()
    if is_sound is None:
        pytest.skip("the compiled library is not available")
    footer = footer_of(stored(_DATA, row_group_size=1))
    assert is_sound(footer, len(footer)) == 1


def test_a_histogram_of_another_length_is_refused(check: Callable[..., None]) -> None:
    content = with_longer_histogram(stored(pa.table({"text": ["a"]})), [0, 1])
    assert pq.ParquetFile(BytesIO(content)).metadata.num_rows == 1
    with pytest.raises(UnsoundFooterError, match="column 0 in row group 0 contradicts"):
        check(footer_of(content))


@pytest.mark.parametrize("field", ["type", "codec", "bound"])
def test_another_type_codec_or_bound_is_refused(check: Callable[..., None], field: str) -> None:
    content = stored(pa.table({"numbers": pa.array([7], pa.int64())}), compression="none")
    footer = footer_of(content)
    metadata_at = footer.index(b"\x1c\x15\x04")  # the struct of a chunk, and its first field
    bound = footer.index(b"\x08" + struct.pack("<q", 7))
    damaged = {
        "type": footer[: metadata_at + 2] + b"\x08" + footer[metadata_at + 3 :],
        "codec": footer.replace(b"numbers\x15\x00", b"numbers\x15\x50"),
        "bound": footer[:bound] + b"\x07" + footer[bound + 1 : bound + 8] + footer[bound + 9 :],
    }[field]
    assert damaged != footer
    with pytest.raises(UnsoundFooterError):
        check(damaged)


def test_both_checks_agree_about_damaged_footers_that_arrow_opens() -> None:
    is_sound = soundness_check()
    if is_sound is None:
        pytest.skip("the compiled library is not available")
    random = Random(1)
    content = stored(_DATA, row_group_size=2)
    footer = footer_of(content)
    opened = agreed = 0
    for _ in range(3000):
        changed = bytearray(footer)
        changed[random.randrange(len(footer))] ^= 1 << random.randrange(8)
        damaged = bytes(changed)
        try:
            pq.ParquetFile(BytesIO(with_footer(content, damaged)))
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            continue
        opened += 1
        if is_sound(damaged, len(damaged)):
            with suppress(UnsoundFooterError):  # the general check reads fewer forms of Thrift
                soundness._check(damaged)
                agreed += 1
    assert agreed > opened / 2 > 100


def test_a_checkpoint_with_an_unsound_footer_is_damaged(tmp_path: Path) -> None:
    history = [[*opening(), add("a"), add("b")], []]
    write_history(tmp_path, history)
    [path] = write_checkpoint(tmp_path, 0, state_at(history, 0))
    path.write_bytes(with_longer_histogram(path.read_bytes(), [2, 0, 2]))
    assert [file.path for file in open_snapshot(tmp_path).scan()] == ["a", "b"]
    commit_path(tmp_path, 0).unlink()
    with pytest.raises(CorruptCheckpointError, match="contradicts the schema"):
        list(open_snapshot(tmp_path).scan(where="part = 'x'"))


def test_a_data_file_with_an_unsound_footer_is_damaged(tmp_path: Path) -> None:
    schema = metadata(columns={"id": "long"}, partition_columns=[])
    write_history(tmp_path, [[protocol(), schema, add("a")]])
    content = with_longer_histogram(stored(pa.table({"id": [1, 2]})), [0, 2])
    (tmp_path / "a").write_bytes(content)
    snapshot = open_snapshot(tmp_path)
    for where in (None, "id = 1"):
        with pytest.raises(CorruptDataFileError, match="contradicts the schema"):
            snapshot.rows(where).read_all()
    with pytest.raises(HeadraceError):
        snapshot.count("id = 1")


def test_a_dataset_with_an_unsound_footer_is_refused_when_it_is_built(tmp_path: Path) -> None:
    schema = metadata(columns={"id": "long"}, partition_columns=[])
    write_history(tmp_path, [[protocol(), schema, add("a")]])
    content = with_longer_histogram(stored(pa.table({"id": [1, 2]})), [0, 2])
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(CorruptDataFileError, match="contradicts the schema"):
        open_snapshot(tmp_path).to_pyarrow_dataset()


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"not Parquet"])
def test_a_file_that_is_not_parquet_is_left_to_arrow(content: bytes) -> None:
    check_footer_of(BytesIO(content))
