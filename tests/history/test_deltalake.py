"""Histories that deltalake can read too list the same files there."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings

from tests.effort import examples
from tests.lake.plan import Hint, Plan
from tests.lake.spelling import SINGLE
from tests.lake.strategies import PLAIN, plans
from tests.listing import open_snapshot
from tests.oracle import canonical

pytestmark = pytest.mark.property


# A dangling hint makes deltalake refuse the table.
HINTS = (Hint.ABSENT, Hint.RIGHT, Hint.STALE)


@settings(max_examples=examples(150))
@given(plans(hints=HINTS, kinds=SINGLE, oddities=PLAIN, most_commits=8))
def test_the_latest_version_equals_that_of_deltalake(plan: Plan) -> None:
    with plan.on_disk() as table:
        adds = pa.table(DeltaTable(str(table)).get_add_actions()).to_pylist()
        files = list(open_snapshot(table).scan())
    theirs = sorted((canonical(add["path"]), add["size_bytes"]) for add in adds)
    assert sorted((canonical(file.path), file.size_bytes) for file in files) == theirs
