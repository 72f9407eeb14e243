"""Sources with deletion vectors: read, pinned, kept by a vacuum, and missed by a replay."""

from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace import Table
from headrace.errors import PinnedFilesChangedError
from headrace.pipeline import Project, RunStatus
from tests.lake.action import Line, add, remove
from tests.lake.log import write_commit
from tests.lake.vector import stored_vector
from tests.pipeline.embedded import run_checked
from tests.rows.lake import field, table_lines

MANIFEST = '[project]\nname = "v"\n[sources.t]\nuri = "lake/t"\n'
VIEW = "-- @materialise output\nSELECT sum(id) AS total FROM t\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project over one data file; a vector deletes two of its ten rows."""
    (tmp_path / "views").mkdir()
    (tmp_path / "headrace.toml").write_text(MANIFEST)
    (tmp_path / "views" / "v.sql").write_text(VIEW)
    table = tmp_path / "lake" / "t"
    table.mkdir(parents=True)
    pq.write_table(pa.table({"id": range(10)}), table / "0.parquet")
    write_commit(table, 0, [*table_lines([field("id", "long")]), added(table, [8, 9], number=1)])
    return tmp_path


def added(table: Path, deleted: list[int], *, number: int) -> Line:
    size = (table / "0.parquet").stat().st_size
    return add("0.parquet", size=size, vector=stored_vector(table, deleted, uuid=UUID(int=number)))


def delete_more(root: Path, *, version: int) -> None:
    """Replace the vector by one that deletes more rows."""
    table = root / "lake" / "t"
    (file,) = Table(table).snapshot().scan()
    known = file.deletion_vector
    assert known is not None
    vector = {
        "storageType": known.storage_type,
        "pathOrInlineDv": known.path_or_inline_dv,
        "sizeInBytes": known.size_in_bytes,
        "cardinality": known.cardinality,
        "offset": known.offset,
    }
    deleted = list(range(8 - version, 10))
    lines = [remove("0.parquet", vector=vector), added(table, deleted, number=version + 1)]
    write_commit(table, version, lines)


def vectors(root: Path) -> set[int]:
    files = (root / "lake" / "t").glob("*.bin")
    return {UUID(file.stem.removeprefix("deletion_vector_")).int for file in files}


def vacuum(root: Path, *, keep_pins: bool, retention_hours: int | None = 0) -> None:
    Project.load(root).vacuum(
        keep_pins=keep_pins, with_sources=True, retention_hours=retention_hours, dry_run=False
    )


def test_another_vector_of_the_same_file_makes_a_view_run(root: Path) -> None:
    run_checked(root)
    delete_more(root, version=1)
    second = run_checked(root)
    assert second.views["v"].status.value == "ran"
    assert "1 file added: 0.parquet (dv u" in second.views["v"].reason
    rows = Table(root / "output" / "v").snapshot().rows().read_all().to_pylist()
    assert rows == [{"total": sum(range(7))}]


def test_a_vacuum_keeps_the_vectors_that_the_newest_version_needs(root: Path) -> None:
    delete_more(root, version=1)
    vacuum(root, keep_pins=False)
    assert vectors(root) == {2}
    assert Table(root / "lake" / "t").snapshot().rows().read_all().num_rows == 7


def test_a_vacuum_that_keeps_pins_keeps_the_vectors_of_every_run(root: Path) -> None:
    then = run_checked(root)
    for version in (1, 2):
        delete_more(root, version=version)
    vacuum(root, keep_pins=True)
    assert vectors(root) == {1, 3}
    assert Project.load(root).replay(then.id).status is RunStatus.SUCCEEDED


def test_a_vacuum_keeps_vectors_that_were_needed_within_the_retention(root: Path) -> None:
    delete_more(root, version=1)
    vacuum(root, keep_pins=False, retention_hours=None)
    vacuum(root, keep_pins=False, retention_hours=1)
    assert vectors(root) == {1, 2}


def test_a_replay_names_a_vector_that_is_gone_or_altered(root: Path) -> None:
    then = run_checked(root)
    file = next((root / "lake" / "t").glob("*.bin"))
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(PinnedFilesChangedError, match=f"{file.name} was altered"):
        Project.load(root).replay(then.id)
    file.unlink()
    with pytest.raises(PinnedFilesChangedError, match=f"{file.name} is gone"):
        Project.load(root).replay(then.id)
