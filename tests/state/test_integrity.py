"""No flipped bit in a state or a manifest changes the answer of a scan.

Manifests are read whole, or by ranges of blocks. In the latter case, the digest of the whole file
is never computed, and the digests of the header and blocks must detect the damage.
"""

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import headrace
from headrace.engines.arrow.manifest import file as manifest_file
from headrace.errors import CorruptStateError
from headrace.maintain.setting import Compression, StateSettings
from tests.effort import examples
from tests.lake.action import add, opening
from tests.lake.log import write_history

PLACES = [(f"f{n:02}", str(n % 7)) for n in range(30)]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table whose state is one manifest of several blocks, read by ranges."""
    monkeypatch.setattr(manifest_file, "_HEADER_BYTES", 0)
    adds = [add(path, partition_values={"part": "x", "n": n}) for path, n in PLACES]
    write_history(tmp_path, [[*opening(), *adds]])
    settings = StateSettings(compression=Compression.NONE, entries_per_block=5)
    headrace.Table(tmp_path).state.with_settings(settings).sync()
    return tmp_path


def scanned(table: Path, n: str) -> list[str]:
    snapshot = headrace.Table(table, reporter=lambda _: None).snapshot()
    return sorted(file.path for file in snapshot.scan(f"n = {n}"))


@pytest.mark.parametrize("name", ["manifests/*.avro", "state-v*/_manifest.avro"])
def test_a_flipped_bit_never_changes_an_answer(table: Path, name: str) -> None:
    (file,) = (table / "_headrace").glob(name)
    content = file.read_bytes()
    chance = Random(name)
    for _ in range(examples(40)):
        damaged = bytearray(content)
        damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        partition = chance.choice("0123456")
        expected = [path for path, n in PLACES if n == partition]
        with suppress(CorruptStateError):  # detected after files had been returned
            assert scanned(table, partition) == expected


def test_a_part_is_read_by_ranges(table: Path) -> None:
    scan = headrace.Table(table).snapshot().scan("n = 3")
    assert len(list(scan)) == 4
    assert scan.metrics.counts.row_groups_skipped > 0
