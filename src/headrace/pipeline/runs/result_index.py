"""An index of the newest result of each view, so that a run need not read the history.

The index summarises the table `views` at one version, which it names. It is never the only place
where something is recorded: if it is missing, damaged or outdated, it is rebuilt from the tables.
"""

from collections.abc import Iterable

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.commit.log import read_commit
from headrace.errors import ObjectNotFoundError
from headrace.pipeline.runs.history_table import REWRITE, HistoryTable, literal
from headrace.pipeline.runs.run_record import RunKind, RunRecord, ViewRun, ViewStatus
from headrace.storage.store import PutMode, WritableStore

_PATH = "results.json"
_FORMAT = 1
_VALID_STATUSES = pa.array([ViewStatus.RAN.value, ViewStatus.SKIPPED.value])


class StandingResult(msgspec.Struct, frozen=True, kw_only=True):
    """The newest result of a view: the run that recorded it, and the record."""

    run: str
    started_ms: int
    """When the run started."""
    bundle: str
    """The id of the bundle that was run."""
    record: ViewRun

    @property
    def age(self) -> tuple[int, str]:
        """A sort key: the time of the run."""
        return self.started_ms, self.run


class ResultIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The newest results by view, as of a version of the table `views`."""

    version: int
    results: dict[str, StandingResult] = {}
    format: int = _FORMAT

    def with_views(
        self, run: RunRecord, views: Iterable[ViewRun], *, version: int
    ) -> "ResultIndex":
        """Return the index after a run has recorded views in a version of the table."""
        results = dict(self.results)
        for view in views if run.kind is RunKind.RUN else ():
            result = StandingResult(
                run=run.id, started_ms=run.started_ms, bundle=run.bundle, record=view
            )
            previous = results.get(view.view)
            if view.stands and (previous is None or previous.age <= result.age):
                results[view.view] = result
        return ResultIndex(version=version, results=results)


def read_index(store: WritableStore) -> ResultIndex | None:
    """Return the stored index; None if there is no usable one."""
    try:
        index = msgspec.json.decode(store.read(_PATH), type=ResultIndex)
    except (ObjectNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return index if index.format == _FORMAT else None


def write_index(store: WritableStore, index: ResultIndex) -> None:
    """Replace the stored index."""
    store.put(_PATH, msgspec.json.encode(index), mode=PutMode.OVERWRITE)


def is_current(index: ResultIndex, views: HistoryTable, *, version: int) -> bool:
    """Return whether the index covers a version: all commits since only rewrote files."""
    commits = (read_commit(views.store, number) for number in range(index.version + 1, version + 1))
    return index.version <= version and all(
        commit is not None and commit.operation == REWRITE for commit in commits
    )


def rebuild_index(views: HistoryTable, runs: HistoryTable) -> ResultIndex:
    """Find the newest result of each view in the tables."""
    version = views.version()
    rows = views.read(["run", "view", "status", "recorded_ms"])
    rows = rows.filter(pc.is_in(rows["status"], value_set=_VALID_STATUSES))
    started = runs.read(["run", "kind", "bundle", "started_ms"])
    started = started.filter(pc.equal(started["kind"], RunKind.RUN.value))
    started = started.group_by(["run", "bundle"]).aggregate([("started_ms", "max")])
    by_age = rows.join(started, keys="run", join_type="inner").sort_by(
        [("started_ms_max", "descending"), ("run", "descending"), ("recorded_ms", "descending")]
    )
    names = by_age["view"].combine_chunks()
    newest = by_age.take(pc.index_in(pc.unique(names), value_set=names)).to_pylist()
    records = {
        (row["run"], row["view"], row["recorded_ms"]): row["record"]
        for run in sorted({row["run"] for row in newest})
        for row in views.rows(
            ["run", "view", "recorded_ms", "record"], where=f"run = {literal(run)}"
        )
    }
    results = {
        row["view"]: StandingResult(
            run=row["run"],
            started_ms=row["started_ms_max"],
            bundle=row["bundle"],
            record=msgspec.json.decode(
                records[row["run"], row["view"], row["recorded_ms"]], type=ViewRun
            ),
        )
        for row in newest
    }
    return ResultIndex(version=version, results=results)
