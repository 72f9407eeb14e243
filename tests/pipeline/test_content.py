"""Hashes of files without a log: of the whole content, computed once."""

import os
import shutil
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import DataFileNotFoundError
from headrace.pipeline import Project
from headrace.pipeline.sources.content_cache import ContentCache
from tests.pipeline.shop import write_shop

LONG_AGO = (10**18, 10**18)


def settle(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file look as if it had not changed for a long time."""
    os.utime(file, ns=LONG_AGO)
    later = file.stat().st_ctime_ns + 10**10
    monkeypatch.setattr("headrace.pipeline.sources.content_cache.time.time_ns", lambda: later)


def test_a_file_is_read_again_only_if_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, cache = tmp_path / "a", ContentCache(tmp_path / "state" / "c.sqlite")
    file.write_bytes(b"one")
    settle(file, monkeypatch)
    first = cache.hashes([file])
    with sqlite3.connect(tmp_path / "state" / "c.sqlite") as store:
        store.execute("UPDATE content SET hash = 'from the cache'")
    assert cache.hashes([file]) == ["from the cache"]
    os.utime(file, ns=(0, 0))
    assert cache.hashes([file]) == first


def test_a_file_that_has_just_changed_is_hashed_again(tmp_path: Path) -> None:
    file, cache = tmp_path / "a", ContentCache(tmp_path / "c.sqlite")
    file.write_bytes(b"one")
    status = file.stat()
    first = cache.hashes([file])
    file.write_bytes(b"two")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cache.hashes([file]) != first


@pytest.mark.parametrize("damage", [b"", b"no database"])
def test_a_cache_that_cannot_be_read_or_written_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    file, store = tmp_path / "a", tmp_path / "c.sqlite"
    file.write_bytes(b"one")
    settle(file, monkeypatch)
    store.write_bytes(damage)
    assert ContentCache(store).hashes([file]) == ContentCache(None).hashes([file])
    assert ContentCache(file / "below a file").hashes([file]) == ContentCache(None).hashes([file])


def test_a_missing_file_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(DataFileNotFoundError, match="gone"):
        ContentCache(None).hashes([tmp_path / "gone"])


def test_a_copy_of_a_project_has_the_same_keys(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    (root / "files" / "deep").mkdir(parents=True)
    pq.write_table(pa.table({"a": [1, 2]}), root / "files" / "deep" / "x.parquet")
    with (root / "headrace.toml").open("a") as manifest:
        manifest.write('[sources.p]\nkind = "parquet"\nuri = "files"\nschema = "a BIGINT"\n')
    (root / "views" / "v.sql").write_text("SELECT a FROM p")
    original = Project.load(root).plan()
    shutil.copytree(root, tmp_path / "elsewhere" / "copy", copy_function=shutil.copyfile)
    copy = Project.load(tmp_path / "elsewhere" / "copy").plan()
    assert copy.id == original.id
    assert {n: v.skip_key for n, v in copy.views.items()} == {
        n: v.skip_key for n, v in original.views.items()
    }
