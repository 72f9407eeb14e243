"""Stored bundles: recorded before their run, and run again as they were planned."""

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import (
    BundleDamagedError,
    InvalidArgumentError,
    PinnedFilesChangedError,
    RunNotFoundError,
)
from headrace.pipeline import Project
from headrace.pipeline.runs.artifact_store import ArtifactStore
from tests.pipeline.embedded import run
from tests.pipeline.seal import sealed
from tests.pipeline.shop import append_orders, edit, write_shop

ENGINE = "datafusion"


def test_a_bundle_is_recorded_before_its_run(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that dies in between must still be traceable."""

    def die(_: object, __: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ArtifactStore, "add_run", die)
    with pytest.raises(KeyboardInterrupt):
        run(shop)
    monkeypatch.undo()
    project = Project.load(shop)
    assert project.runs() == []
    assert project.store.bundle(project.plan(engine=ENGINE).id).order == (
        "forecast",
        "revenue",
        "top",
    )


def test_a_stored_bundle_runs_by_a_prefix_of_its_id(tmp_path: Path) -> None:
    root = write_shop(tmp_path)
    first = Project.load(root).run(engine="datafusion")
    append_orders(root, year=2024, count=5)
    edit(root / "views" / "top.sql", "total > 100", "total > 0")
    Project.load(root).run(engine="datafusion").check()
    again = Project.load(root).run(bundle=first.bundle[:12])
    again.check()
    assert (again.bundle, again.engine) == (first.bundle, first.engine)
    for name in ("revenue", "top", "forecast"):
        then, now = first.views[name].digest, again.views[name].digest
        assert then is not None
        assert now is not None
        assert now.rows_digest == then.rows_digest
    with pytest.raises(RunNotFoundError):
        Project.load(root).run(bundle="ffff" if not first.bundle.startswith("ffff") else "0000")
    with pytest.raises(InvalidArgumentError):
        Project.load(root).run(bundle=first.bundle, pins={"orders": 0})


@pytest.mark.parametrize("change", ["added", "altered", "gone"])
def test_a_stored_bundle_does_not_run_over_other_files(tmp_path: Path, change: str) -> None:
    root = write_shop(tmp_path)
    files = root / "files"
    files.mkdir()
    pq.write_table(pa.table({"a": [1]}), files / "one.parquet")
    pq.write_table(pa.table({"a": [2]}), files / "two.parquet")
    manifest = (root / "headrace.toml").read_text()
    source = '[sources.p]\nuri = "files"\nkind = "parquet"\nschema = "a BIGINT"\n\n[settings]'
    (root / "headrace.toml").write_text(manifest.replace("[settings]", source))
    (root / "views" / "numbers.sql").write_text("-- @materialise output\nSELECT a FROM p\n")
    first = Project.load(root).run(engine="datafusion")
    match change:
        case "added":
            pq.write_table(pa.table({"a": [3]}), files / "three.parquet")
        case "altered":
            pq.write_table(pa.table({"a": [4]}), files / "two.parquet")
        case _:
            (files / "two.parquet").unlink()
    Project.load(root).run(engine="datafusion").check()
    with pytest.raises(PinnedFilesChangedError, match=change):
        Project.load(root).run(bundle=first.bundle)


def test_a_stored_bundle_with_another_query_does_not_run(tmp_path: Path) -> None:
    root = write_shop(tmp_path)
    bundle = Project.load(root).run(engine="datafusion").bundle
    file = root / ".headrace" / "bundles" / f"{bundle}.json.zst"
    stored = pa.CompressedInputStream(pa.BufferReader(file.read_bytes()), "zstd").read()
    altered = msgspec.json.decode(stored)
    altered["views"]["revenue"]["sql"] += " LIMIT 1"
    file.write_bytes(pa.compress(sealed(altered), codec="zstd", asbytes=True))
    with pytest.raises(BundleDamagedError, match="SQL of view revenue is not the SQL of its key"):
        Project.load(root).run(bundle=bundle, full_refresh=True)
