"""Probing by column must give the same answers as probing key by key."""

from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.protocol.key import FileKey, canonical_path
from headrace.replay.match import BITMAP_LIMIT_BYTES, SeenMatcher
from headrace.replay.seen import FrozenSeenSet
from tests.effort import examples

VECTOR = pa.struct(
    [("storageType", pa.string()), ("pathOrInlineDv", pa.string()), ("offset", pa.int32())]
)
names = st.one_of(
    st.text("ab%/ é", min_size=1, max_size=5),
    st.integers(0, 30).map(
        lambda i: f"city=Z%C3%BCrich/part-{i:05}-{'0' * 30}-c000.snappy.parquet"
    ),
    st.integers(0, 30).map(lambda i: f"part-{i:05}-{'0' * 30}-c000.snappy.parquet"),
    st.integers(0, 9).map(lambda i: f"{'d' * 40}/a%20b{i}.parquet"),
    st.builds(
        lambda scheme, slashes, name: scheme + "/" * slashes + name,
        st.sampled_from(["file:", "%66ile:", "%66%69le%3A", "%66%69%6C%65%3A", "fil:", ""]),
        st.integers(1, 60),
        st.text("ab", min_size=1, max_size=3) | st.integers(0, 3).map(lambda i: f"{i}" * 38),
    ),
)
vectors: st.SearchStrategy[dict[str, object] | None] = st.one_of(
    st.none(),
    st.builds(
        dict,
        storageType=st.sampled_from("ui"),
        pathOrInlineDv=st.sampled_from(["x", "y"]),
        offset=st.one_of(st.none(), st.integers(0, 2)),
    ),
)
rows = st.lists(st.tuples(names, vectors), max_size=40)


def key(path: str, vector: dict[str, object] | None) -> FileKey:
    if vector is None:
        return FileKey(canonical_path(path))
    base = f"{vector['storageType']}{vector['pathOrInlineDv']}"
    offset = vector["offset"]
    return FileKey(canonical_path(path), base if offset is None else f"{base}@{offset}")


@pytest.mark.property
@given(
    rows,
    rows,
    st.integers(0, 3),
    st.sampled_from([pa.string(), pa.large_string()]),
    st.sampled_from([0, 8, BITMAP_LIMIT_BYTES]),
)
@settings(max_examples=examples(300))
def test_by_column_equals_key_by_key_whatever_the_size_of_the_bitmap(
    seen_rows: list[tuple[str, dict[str, object] | None]],
    batch_rows: list[tuple[str, dict[str, object] | None]],
    skipped: int,
    text: pa.DataType,
    bitmap_limit_bytes: int,
) -> None:
    seen = FrozenSeenSet(key(*row) for row in seen_rows)
    probed = batch_rows + seen_rows
    paths = pa.array([path for path, _ in probed], text).slice(skipped)
    dvs = pa.array([vector for _, vector in probed], VECTOR).slice(skipped)
    expected = [place for place, row in enumerate(probed[skipped:]) if key(*row) in seen]
    matcher = SeenMatcher(seen, bitmap_limit_bytes=bitmap_limit_bytes)
    assert matcher.seen_rows(paths, dvs).tolist() == expected


@pytest.mark.property
@given(st.lists(st.text("a b/%=é", min_size=1, max_size=60), min_size=1, max_size=20))
@settings(max_examples=examples(200))
def test_an_encoded_path_is_found_by_its_decoded_key(texts: list[str]) -> None:
    seen = FrozenSeenSet(FileKey(text) for text in texts)
    encoded = pa.array([quote(text) for text in texts], pa.string())
    assert SeenMatcher(seen).seen_rows(encoded, None).tolist() == list(range(len(texts)))


def test_a_set_on_disk_is_probed_by_column() -> None:
    paths = [f"part-{number:05}-{'0' * 30}-c000.snappy.parquet" for number in range(2000)]
    seen = FrozenSeenSet(map(FileKey, paths[::2]), memory_limit_bytes=0)
    assert SeenMatcher(seen).seen_rows(pa.array(paths), None).tolist() == list(range(0, 2000, 2))


def test_few_rows_are_compared_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{number:05}-{uuid5(NAMESPACE_URL, str(number))}.parquet" for number in range(9000)]
    seen = FrozenSeenSet(map(FileKey, names[:1000]))
    probed: list[FileKey] = []

    def contains_many(_: FrozenSeenSet, keys: list[FileKey]) -> list[bool]:
        probed.extend(keys)
        return [True] * len(keys)

    monkeypatch.setattr(FrozenSeenSet, "contains_many", contains_many)
    SeenMatcher(seen).seen_rows(pa.array(names[1000:]), None)
    assert len(probed) < 80
