"""The leaves of a phase as one value: what they have in common, and their output."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from headrace import Table, wiring
from headrace.engines.spark.deferring import DeferringExecutor
from headrace.engines.spark.worker import read_task
from headrace.expr.node import And, BoundPredicate
from headrace.metrics.meter import Meter
from headrace.plan.leaf import fuse_leaves
from headrace.plan.node import Chain, DropSeen, Node, ScanAvro, ScanParquet, SkipFiles
from headrace.protocol.log_file import LogFile
from headrace.replay.seen import FrozenSeenSet
from headrace.storage.local import LocalStore
from tests.lake.action import add, opening, statistics
from tests.lake.checkpoint import Form, Shape, write_checkpoint
from tests.lake.log import state_at, write_history

SEEN = FrozenSeenSet()
PREDICATE: And[BoundPredicate] = And(parts=())


def scan(name: str, *columns: str) -> ScanParquet:
    return ScanParquet(files=(LogFile(path=name),), columns=columns or ("add.path", "add.stats"))


def leaf(name: str, *columns: str) -> DropSeen:
    skip = SkipFiles(input=scan(name, *columns), predicate=PREDICATE, output_columns=("add.path",))
    return DropSeen(input=skip, seen=SEEN)


def test_leaves_of_one_phase_are_one_value() -> None:
    fused = fuse_leaves([leaf("a"), leaf("b")], ScanParquet)
    assert fused is not None
    assert [file.path for file in fused.files] == ["a", "b"]
    assert (fused.predicate, fused.output_columns, fused.seen) == (PREDICATE, ("add.path",), SEEN)
    assert fused.output_fields == frozenset({"path"})


@pytest.mark.parametrize("plan", [leaf("a"), DropSeen(input=scan("a"), seen=SEEN)])
def test_a_leaf_of_one_scan_is_the_original_plan(plan: Node) -> None:
    fused = fuse_leaves([plan], ScanParquet)
    assert fused is not None
    assert fused.to_node() == plan


@pytest.mark.parametrize(
    "leaves",
    [
        [],
        [leaf("a"), DropSeen(input=scan("b"), seen=SEEN)],
        [leaf("a"), leaf("b", "add.path")],
        [leaf("a"), replace(leaf("b"), seen=FrozenSeenSet())],
        [leaf("a"), scan("b")],
        [scan("a")],
        [SkipFiles(input=scan("a"), predicate=PREDICATE)],
        [Chain(inputs=(leaf("a"),))],
    ],
    ids=["none", "predicate", "columns", "seen", "shape", "scan", "unseen", "chain"],
)
def test_other_plans_are_not_fused(leaves: list[Node]) -> None:
    assert fuse_leaves(leaves, ScanParquet) is None


def test_a_scan_of_manifests_may_stand_alone() -> None:
    alone = ScanAvro(files=(LogFile(path="a"),), columns=("add.path",))
    fused = fuse_leaves([alone], ScanAvro)
    assert fused is not None
    assert fused.to_node() == alone
    assert fuse_leaves([leaf("a")], ScanAvro) is None


@pytest.mark.parametrize("where", ["id >= 3", "part = 'a'"])
def test_workers_do_not_send_columns_that_only_the_predicate_needs(
    tmp_path: Path, where: str
) -> None:
    values = {"part": "a", "n": "1"}
    adds = [add(f"f{i}", stats=statistics(i), partition_values=values) for i in range(9)]
    write_history(tmp_path, [[*opening(), *adds]])
    write_checkpoint(tmp_path, 0, state_at([[*opening(), *adds]], 0), Shape(form=Form.CLASSIC))
    executor = DeferringExecutor(
        wiring.open_executor(LocalStore(str(tmp_path))), task_bytes=1 << 20
    )
    scan = Table(tmp_path, executor=executor).snapshot().scan(where)
    scan.run(projection=("path", "size")).run_to_terminal()
    [(work, [task])] = executor.deferred
    assert {"add.stats", "add.partitionValues"} & set(work.leaf.columns)
    batches = [batch for _, batch in read_task(work, task, meter=Meter())]
    assert sum(map(len, batches)) > 0
    for batch in batches:
        assert {field.name for field in batch.columns.column("add").type} == {"path", "size"}


def test_the_output_columns_of_a_node_keep_their_former_name() -> None:
    skip = SkipFiles(input=scan("a"), predicate=PREDICATE, output_columns=("add.path",))
    with pytest.warns(DeprecationWarning, match="output_columns"):
        assert skip.wanted == ("add.path",)
