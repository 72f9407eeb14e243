"""Bundles as values: what their id and seal cover, and the file lists they refer to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import BundleDamagedError, FileListMissingError
from headrace.pipeline import Bundle, Project, decode_bundle
from headrace.pipeline.bundle.file_list import compare_files
from tests.pipeline.seal import sealed
from tests.pipeline.shop import append_orders, edit, write_shop


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shop(tmp_path_factory.mktemp("bundle") / "shop")


@pytest.fixture(scope="module")
def bundle(shop: Path) -> Bundle:
    return Project.load(shop).plan(engine="datafusion")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value that is not a container, and to every empty container."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    for key, inner in pairs:
        yield from leaves(inner, (*path, key))
    if not pairs:
        yield path


def altered(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}A"
        case None:
            return 1
        case list():
            return ["A"]
        case _:
            return {"a": "A"}


def with_change(stored: dict[str, Any], path: tuple[Any, ...]) -> bytes:
    copy = json.loads(json.dumps(stored))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = altered(holder[path[-1]])
    return msgspec.json.encode(copy, order="sorted")


def test_a_bundle_is_read_back_as_it_was_written(bundle: Bundle) -> None:
    assert decode_bundle(bundle.encode()) == bundle
    assert decode_bundle(bundle.encode()).encode() == bundle.encode()


def test_every_single_alteration_of_a_stored_bundle_is_refused(bundle: Bundle) -> None:
    stored = json.loads(bundle.encode())
    accepted = []
    paths = list(leaves(stored))
    for path in paths:
        try:
            decode_bundle(with_change(stored, path))
        except BundleDamagedError:
            continue
        accepted.append(path)
    assert accepted == []
    assert len(paths) > 200


@pytest.mark.parametrize(
    "path",
    [
        ("settings", "time_zone"),
        ("engine",),
        ("views", "revenue", "substrait"),
        ("views", "revenue", "datafusion_sql"),
        ("views", "revenue", "variables", "least"),
        ("views", "revenue", "header", "contract"),
        ("views", "revenue", "header", "write"),
        ("views", "revenue", "schema"),
        ("views", "revenue", "units", 0, "digest"),
        ("pins", "orders", "version"),
    ],
)
def test_everything_that_decides_a_result_is_covered_by_the_id(
    bundle: Bundle, path: tuple[Any, ...]
) -> None:
    forged = json.loads(with_change(json.loads(bundle.encode()), path))
    with pytest.raises(BundleDamagedError, match="does not match its id"):
        decode_bundle(sealed(forged))


def test_a_comment_changes_the_seal_but_not_the_id(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    before = Project.load(root).plan(engine="datafusion")
    edit(root / "views" / "revenue.sql", "FROM orders o", "/* all */\nFROM orders o")
    after = Project.load(root).plan(engine="datafusion")
    assert (before.id == after.id, before.seal == after.seal) == (True, False)


@pytest.mark.parametrize("encoded", [b"", b"{}", b"[]", b"\xff", b'{"id":"a","format":2}'])
def test_a_value_that_is_not_a_bundle_is_refused(encoded: bytes) -> None:
    with pytest.raises(BundleDamagedError):
        decode_bundle(encoded)


def test_a_bundle_of_a_later_format_is_refused_by_its_number(bundle: Bundle) -> None:
    later = json.loads(bundle.encode()) | {"format": 99}
    with pytest.raises(BundleDamagedError, match="format 99"):
        decode_bundle(json.dumps(later).encode())


def test_the_size_of_a_bundle_does_not_depend_on_the_number_of_files(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    few = len(Project.load(root).plan(engine="datafusion").encode())
    for _ in range(30):
        append_orders(root, year=2024, count=15)
    many = Project.load(root).plan(engine="datafusion")
    assert many["revenue"].unit("orders").files_kept == 31
    assert len(many.encode()) <= few + 30


def test_a_bundle_that_is_decoded_on_its_own_has_no_paths(bundle: Bundle) -> None:
    unit = decode_bundle(bundle.encode())["revenue"].unit("orders")
    assert unit.digest == bundle["revenue"].unit("orders").digest
    with pytest.raises(FileListMissingError, match="orders"):
        _ = unit.paths


FILES = st.dictionaries(
    st.tuples(st.sampled_from("abcde"), st.sampled_from([None, "v", "w"])), st.integers(0, 2)
)


def table_of(files: dict[tuple[str, str | None], int]) -> pa.Table:
    rows = [{"path": p, "dv_id": v, "size_bytes": size} for (p, v), size in files.items()]
    schema = pa.schema([("path", pa.string()), ("dv_id", pa.string()), ("size_bytes", pa.int64())])
    return pa.Table.from_pylist(rows, schema)


@given(FILES, FILES)
def test_lists_of_files_are_compared_as_sets_of_rows(
    then: dict[tuple[str, str | None], int], now: dict[tuple[str, str | None], int]
) -> None:
    def labels(keys: set[tuple[str, str | None]]) -> list[str]:
        return sorted(path if vector is None else f"{path} (dv {vector})" for path, vector in keys)

    changes = compare_files(table_of(then), table_of(now))
    assert changes.added.to_pylist() == labels(now.keys() - then.keys())
    assert changes.removed.to_pylist() == labels(then.keys() - now.keys())
    both = {key for key in now.keys() & then.keys() if now[key] != then[key]}
    assert changes.altered.to_pylist() == labels(both)
    assert bool(changes) == (then != now)
