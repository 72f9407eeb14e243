import io
from pathlib import Path

import datafusion
import fastavro
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.avro.codec import Codec, CodecName
from headrace.avro.state_file import decode_state, encode_state
from headrace.errors import CorruptStateError, UnsupportedStateError
from headrace.protocol.state import ManifestInfo, PartitionBounds, StateManifest, Tombstone
from tests.avro.entry import LONGS, MAPS, TEXTS

COUNTS = st.integers(0, 2**63 - 1)
BOUNDS = st.builds(
    PartitionBounds,
    min=st.none() | TEXTS,
    max=st.none() | TEXTS,
    contains_null=st.none() | st.booleans(),
    contains_nan=st.none() | st.booleans(),
)
INFOS = st.builds(
    ManifestInfo,
    path=TEXTS,
    num_entries=COUNTS,
    min_added_at_version=LONGS,
    max_added_at_version=LONGS,
    partition_bounds=st.none() | st.dictionaries(TEXTS, BOUNDS, max_size=3),
    tombstone_count=LONGS,
    live_entry_count=LONGS,
    sha256=st.none() | TEXTS,
    min_added_at_timestamp=st.none() | LONGS,
)


def as_stored(state: StateManifest) -> StateManifest:
    """Return a state that names each manifest once and has no more files than entries."""
    manifests = tuple({info.path: info for info in state.manifests}.values())
    entries = sum(info.num_entries for info in manifests)
    num_files = min(state.num_files, entries)
    return msgspec.structs.replace(state, manifests=manifests, num_files=num_files)


STATES = st.builds(
    StateManifest,
    state_version=COUNTS,
    created_at=LONGS,
    num_files=COUNTS,
    total_bytes=COUNTS,
    manifests=st.lists(INFOS, max_size=4).map(tuple),
    tombstones=st.lists(TEXTS, max_size=4).map(tuple),
    schema_registry=MAPS,
    metadata=st.none() | TEXTS,
    protocol=st.none() | TEXTS,
    tombstone_entries=st.lists(
        st.builds(Tombstone, path=TEXTS, dv_id=st.none() | TEXTS, removed_at_version=LONGS),
        max_size=3,
    ).map(tuple),
    commit_id=st.none() | TEXTS,
    anchor=st.none() | TEXTS,
).map(as_stored)


def state(**fields: object) -> StateManifest:
    plain = StateManifest(state_version=1, created_at=1, num_files=0, total_bytes=0, manifests=())
    return msgspec.structs.replace(plain, **fields)


@settings(max_examples=50)
@given(STATES, st.sampled_from(CodecName))
def test_a_state_is_read_as_it_was_written(written: StateManifest, codec: CodecName) -> None:
    content = encode_state(written, codec=Codec(codec))
    assert decode_state(content, path="s") == written
    assert list(fastavro.reader(io.BytesIO(content))) == [
        msgspec.json.decode(msgspec.json.encode(written))
    ]


def test_datafusion_reads_a_state(tmp_path: Path) -> None:
    path = tmp_path / "s.avro"
    path.write_bytes(encode_state(state(tombstones=("a", "b"), num_files=7)))
    table = datafusion.SessionContext().read_avro(str(path)).to_arrow_table()
    assert (table["numFiles"].to_pylist(), table["tombstones"].to_pylist()) == ([7], [["a", "b"]])


def test_a_newer_format_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedStateError, match="format version is 2"):
        decode_state(encode_state(state(format_version=2)), path="s")


def test_negative_counts_are_damage() -> None:
    with pytest.raises(CorruptStateError, match="negative"):
        decode_state(encode_state(state(num_files=-1)), path="s")


@pytest.mark.parametrize("size", [0, 3, 4, 50, 1000, -17, -1])
def test_a_truncated_state_is_damage(size: int) -> None:
    with pytest.raises(CorruptStateError):
        decode_state(encode_state(state(tombstones=("x" * 200,)))[:size], path="s")
