"""Real tables copied to S3 and Azure: the same answers as on local disk, at every version.

The other tests in this folder compare the local answers with the index and the oracle. By default,
a sample of the tables is copied; `make conformance-remote` copies all of them.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from headrace import Table
from headrace.errors import HeadraceError
from tests import oracle
from tests.conformance.comparison import are_equal
from tests.conformance.fixture import Fixture, fixture_params
from tests.emulator.place import Place

STEP = int(os.environ.get("HEADRACE_CONFORMANCE_STEP", "20"))
MOST_VERSIONS = 4 if STEP > 1 else 10_000
LARGEST_BYTES = 3_000_000 if STEP > 1 else 1 << 40


def _size_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _versions(folder: Path) -> list[int | None]:
    versions = sorted(oracle.versions(folder))
    spread = versions[:: max(len(versions) // MOST_VERSIONS, 1)]
    return [None, *spread]


def _files(table: Table, version: int | None) -> Any:
    """Return the live files of a version, or the code of the refusal."""
    try:
        scan = table.snapshot(version).scan()
        return sorted((f.path, f.dv_id or "", f.size_bytes, f.stats or "") for f in scan)
    except HeadraceError as refusal:
        return refusal.code


def _rows(table: Table) -> Any:
    try:
        return table.snapshot().rows().read_all()
    except HeadraceError as refusal:
        return refusal.code


@pytest.mark.parametrize("fixture", fixture_params()[::STEP])
@pytest.mark.timeout(600)
def test_a_copy_in_a_remote_store_gives_the_same_files_and_rows(
    fixture: Fixture, remote: Place
) -> None:
    if _size_bytes(fixture.table) > LARGEST_BYTES:
        pytest.skip("it is large; make conformance-remote copies it")
    uri = remote.upload(fixture.table, f"conformance/{fixture.name}")
    copy, original = Table(uri, storage_options=remote.options), Table(fixture.table)
    for version in _versions(fixture.table):
        assert _files(copy, version) == _files(original, version), version
    ours, expected = _rows(copy), _rows(original)
    assert isinstance(ours, str) == isinstance(expected, str)
    assert ours == expected if isinstance(ours, str) else are_equal(ours, expected)
