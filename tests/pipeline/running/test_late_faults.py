"""Failures after a commit are warnings; failures before it prevent the commit."""

import errno
from pathlib import Path
from typing import NoReturn

import pytest
from deltalake import DeltaTable

from headrace import Table
from headrace.commit import upkeep
from headrace.pipeline import Project, ViewStatus
from tests.pipeline.shop import write_shop

PARTITIONED = (
    "-- @materialise output\n-- @partition_by name\n"
    "-- @contract (id BIGINT, name STRING NOT NULL)\n"
    "SELECT id, CASE WHEN id = 1 THEN '' ELSE name END AS name FROM customers\n"
)


def rows_of(table: Path) -> list[str]:
    return sorted(map(repr, Table(table).snapshot().rows().read_all().to_pylist()))


def test_a_checkpoint_that_fails_for_lack_of_space_is_a_warning_on_a_valid_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_shop(tmp_path)

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(upkeep, "_COMMITS_A_CHECKPOINT", 1)
    monkeypatch.setattr(upkeep, "DeltaTable", fail)
    project = Project.load(root)
    project.run(engine="datafusion").check()
    record = project.run(engine="datafusion", full_refresh=True)
    record.check()
    assert "No space left" in record.views["top"].warnings[0]
    table = root / "output" / "top"
    assert Table(table).snapshot().rows().read_all().equals(DeltaTable(table).to_pyarrow_table())
    assert project.run(engine="datafusion").count(ViewStatus.SKIPPED) == 3


def test_a_partition_column_that_breaks_its_promise_leaves_the_table_as_it_was(
    tmp_path: Path,
) -> None:
    root = write_shop(tmp_path)
    (root / "views" / "parts.sql").write_text(PARTITIONED.replace("id = 1", "id = 7"))
    Project.load(root).run(engine="datafusion", select=["parts"]).check()
    before = Table(root / "output" / "parts").snapshot().rows().read_all()
    (root / "views" / "parts.sql").write_text(PARTITIONED)
    record = Project.load(root).run(engine="datafusion", select=["parts"])
    assert record.views["parts"].status is ViewStatus.FAILED
    assert Table(root / "output" / "parts").snapshot().rows().read_all().equals(before)


def test_a_lost_data_file_of_an_output_is_detected_and_written_again(tmp_path: Path) -> None:
    root = write_shop(tmp_path)
    project = Project.load(root)
    project.run(engine="datafusion").check()
    before = rows_of(root / "output" / "revenue")
    (data_file,) = (root / "output" / "revenue").rglob("*.parquet")
    data_file.unlink()
    decision = project.why("revenue")
    assert "is gone or changed" in decision.reason
    project.run(engine="datafusion").check()
    assert rows_of(root / "output" / "revenue") == before
