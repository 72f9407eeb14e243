"""The driver is lazy and closable, and emits nothing for phases that only consume."""

from collections.abc import Iterator

from examples.memory_executor import MemoryExecutor, two_commits
from headrace.phases import ReadHint, SnapshotRequest
from headrace.phases.scan_request import ScanOutcome
from headrace.plan import Batch, Node, ScanJson
from headrace.plan.context import ExecutionContext
from headrace.scan.run import Run
from headrace.table import Table


class Watched(MemoryExecutor):
    """Counts the batches it has produced, and records whether its iterators were closed."""

    def __init__(self) -> None:
        super().__init__(two_commits())
        self.batches = 0
        self.closed = 0

    def execute(self, plan: Node) -> Iterator[Batch]:
        try:
            for batch in super().execute(plan):
                self.batches += isinstance(plan, ScanJson)
                yield batch
        finally:
            self.closed += 1


def scan_run(executor: Watched) -> Run[ScanOutcome]:
    run = Table("/nowhere", executor=executor).snapshot().scan().run()
    executor.batches = executor.closed = 0
    return run


def test_nothing_is_read_before_the_first_batch_is_requested() -> None:
    executor = Watched()
    scan_run(executor)
    assert executor.batches == 0


def test_one_requested_batch_reads_one_batch() -> None:
    executor = Watched()
    run = scan_run(executor)
    next(run)
    assert executor.batches == 1


def test_closing_stops_reading_and_closes_every_iterator() -> None:
    executor = Watched()
    with scan_run(executor) as run:
        next(run)
    assert executor.batches == 1
    assert executor.closed > 0
    assert list(run) == []


def test_consuming_phases_return_nothing_to_the_caller() -> None:
    run = Run(ReadHint(request=SnapshotRequest(table="m")), executor=Watched())
    assert list(run) == []
    assert run.terminal.segment.version == 1


def test_a_limit_reads_no_further_commit() -> None:
    executor = Watched()
    scan = Table("/nowhere", executor=executor).snapshot().scan(limit=1)
    executor.batches = 0
    assert [file.path for file in scan] == ["c.parquet"]
    assert executor.batches == 1


def test_a_scan_can_be_iterated_again() -> None:
    scan = Table("/nowhere", executor=Watched()).snapshot().scan()
    assert [f.path for f in scan] == [f.path for f in scan]


class Bound(Watched):
    """Records whether it was bound to a context."""

    was_bound = False

    def bound(self, context: ExecutionContext) -> "Bound":  # noqa: ARG002
        self.was_bound = True
        return self


def test_an_executor_keeps_its_own_settings_if_a_run_has_none() -> None:
    executor = Bound()
    Run(ReadHint(request=SnapshotRequest(table="m")), executor=executor).run_to_terminal()
    assert not executor.was_bound
