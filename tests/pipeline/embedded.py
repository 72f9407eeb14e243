"""Run a project on DataFusion, and read what the run wrote."""

from pathlib import Path
from typing import Any

from headrace import Table
from headrace.pipeline import Project, RunRecord, ViewRun

ENGINE = "datafusion"


def run(root: Path, **request: Any) -> RunRecord:
    """Run a project; the record may be of a run that failed."""
    return Project.load(root).run(engine=ENGINE, **request)


def run_checked(root: Path, **request: Any) -> RunRecord:
    """Run a project, and raise if the run failed."""
    record = run(root, **request)
    record.check()
    return record


def rows(root: Path, view: str) -> list[dict[str, Any]]:
    """Return the rows of an output, in the order of its table."""
    values: list[dict[str, Any]] = (
        Table(root / "output" / view).snapshot().rows().read_all().to_pylist()
    )
    return values


def statuses(record: RunRecord) -> dict[str, str]:
    """Return the outcome of each view."""
    return {name: view.status.value for name, view in record.views.items()}


def rows_digest(view: ViewRun) -> str:
    """Return the digest of the rows of a view that has a result."""
    assert view.digest is not None
    return view.digest.rows_digest
