"""A pipeline whose sources are in a remote store, on DataFusion."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headrace.pipeline import Project
from headrace.pipeline.runs.run_record import ViewStatus
from tests.emulator.place import SECRET_KEY, Place
from tests.pipeline.running.remote_source import write_project


def test_a_run_reads_its_sources_from_a_store_and_keeps_no_secret(
    s3: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_KEY", s3.options["aws_access_key_id"])
    monkeypatch.setenv("LAKE_SECRET", SECRET_KEY)
    lake = tmp_path / "orders"
    write_deltalake(lake, pa.table({"n": [1, 2, 3, 4], "part": ["a", "b", "a", "b"]}))
    root = write_project(tmp_path / "project", s3.upload(lake, "pipeline/orders"), s3)
    first = Project.load(root).run(engine="datafusion")
    first.check()
    rows = DeltaTable(root / "output" / "totals").to_pyarrow_table().to_pylist()
    assert sorted((row["part"], row["total"]) for row in rows) == [("a", 4), ("b", 6)]
    assert Project.load(root).run(engine="datafusion").count(ViewStatus.SKIPPED) == 1
    write_deltalake(lake, pa.table({"n": [10], "part": ["a"]}), mode="append")
    s3.upload(lake, "pipeline/orders")
    assert Project.load(root).run(engine="datafusion").count(ViewStatus.RAN) == 1
    files = [file for file in root.rglob("*") if file.is_file()]
    assert len(files) > 5
    assert [file for file in files if SECRET_KEY.encode() in file.read_bytes()] == []
