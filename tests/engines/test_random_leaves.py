"""Leaves that are executed together return what each returns alone, however they differ."""

from collections.abc import Iterable

import msgspec.structs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Snapshot
from headrace.phases import Consume, Parallel, Terminus
from headrace.plan import ActionBatch, Batch, DropSeen
from headrace.protocol.key import FileKey
from headrace.replay.seen import FrozenSeenSet
from tests.effort import examples
from tests.lake.partition import CONDITIONS, Condition
from tests.lake.plan import Plan
from tests.lake.strategies import full_checkpoints
from tests.listing import open_snapshot


@pytest.mark.property
@settings(max_examples=examples(100))
@given(full_checkpoints(), st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=4), st.data())
def test_leaves_read_together_equal_leaves_read_alone(
    plan: Plan, conditions: list[Condition], data: st.DataObject
) -> None:
    paths = sorted(key.path for key in plan.state(0).live)
    hidden = st.sets(st.sampled_from(paths)).map(lambda names: FrozenSeenSet(map(FileKey, names)))
    seen_sets = data.draw(st.lists(hidden, min_size=1, max_size=2))
    with plan.on_disk() as table:
        snapshot = open_snapshot(table)
        leaves = [
            msgspec.structs.replace(leaf, seen=data.draw(st.sampled_from(seen_sets)))
            for condition in conditions
            for leaf in _leaves(snapshot, condition)
        ]
        executor = snapshot.table.executor
        together = _paths(executor.execute_leaves(leaves))
        assert together == sorted(p for leaf in leaves for p in _paths(executor.execute(leaf)))


def _leaves(snapshot: Snapshot, condition: Condition) -> list[DropSeen]:
    """Return the leaves of a scan's checkpoint, by stepping through its phases by hand."""
    executor = snapshot.table.executor
    phase = snapshot.scan(where=condition.sql).run().phase
    while not isinstance(phase, Parallel):
        assert not isinstance(phase, Terminus)
        batches = list(executor.execute(phase.plan()))
        phase = phase.next(batches) if isinstance(phase, Consume) else phase.next()
    return [leaf for leaf in phase.leaves() if isinstance(leaf, DropSeen)]


def _paths(batches: Iterable[Batch]) -> list[str]:
    action_batches = [batch for batch in batches if isinstance(batch, ActionBatch)]
    return sorted(add.path for batch in action_batches for add in batch.actions("add"))
