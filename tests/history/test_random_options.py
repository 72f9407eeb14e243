"""A scan returns the same files, whatever its options."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.lake.partition import CONDITIONS, Condition
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.listing import AS_WRITTEN, batch_rows, by_key, file_rows, open_snapshot

pytestmark = pytest.mark.property

WHERE = (None, "id > 20", "id < 10 OR part IS NULL", "n = 1 AND id > 20")

options = st.fixed_dictionaries(
    {},
    optional={
        "strategy": st.sampled_from(["auto", "reverse", "forward"]),
        "tripwire": st.sampled_from(["lenient", "strict"]),
        "memory_limit_bytes": st.sampled_from([0, 200, 1 << 20]),
        "commit_parallelism": st.integers(1, 3),
        "leaf_parallelism": st.integers(1, 3),
        "batch_rows": st.integers(1, 3),
        "row_groups_per_batch": st.integers(1, 3),
    },
)


@settings(max_examples=examples(200))
@given(plans(), options)
def test_no_option_changes_which_files_are_returned(plan: Plan, chosen: dict[str, Any]) -> None:
    with plan.on_disk() as table:
        for version in plan.readable:
            scan = open_snapshot(table, version).scan(**chosen)
            assert by_key(scan).keys() == plan.state(version).live.keys()
            assert scan.count() == len(plan.state(version).live)


@settings(max_examples=examples(150))
@given(plans(), options, st.sampled_from(CONDITIONS))
def test_no_option_changes_which_files_a_condition_keeps(
    plan: Plan, chosen: dict[str, Any], condition: Condition
) -> None:
    live = plan.state(plan.latest).live
    expected = {key for key, add in live.items() if condition.keeps(add["partitionValues"])}
    with plan.on_disk() as table:
        scan = open_snapshot(table).scan(where=condition.sql, **chosen)
        assert by_key(scan).keys() == expected
        assert scan.count() == len(expected)


@settings(max_examples=examples(150))
@given(plans(), options, st.sampled_from(WHERE), st.sets(st.sampled_from(AS_WRITTEN)))
def test_neither_options_nor_columns_change_the_facts_of_a_file(
    plan: Plan, chosen: dict[str, Any], where: str | None, some: set[str]
) -> None:
    columns = [name for name in AS_WRITTEN if name in {"path", "dv_id"} | some]
    with plan.on_disk() as table:
        snapshot = open_snapshot(table)
        plain, scan = snapshot.scan(where=where), snapshot.scan(where=where, **chosen)
        expected = file_rows(plain, AS_WRITTEN)
        assert file_rows(scan, AS_WRITTEN) == expected
        narrow = [{name: row[name] for name in columns} for row in expected]
        assert batch_rows(scan.batches(columns=columns)) == narrow
