"""A time selects the last version at or before it, whatever the clocks did."""

from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.errors import TimestampNotFoundError
from tests.effort import examples
from tests.lake.clock import Clock

pytestmark = pytest.mark.property

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
times = st.integers(1, 40)


@st.composite
def clocks(draw: st.DrawFn, /) -> Clock:
    """Draw file times in any order; in-commit timestamps increase, as all writers ensure."""
    modified = draw(st.lists(times, min_size=1, max_size=8))
    steps = draw(st.lists(st.integers(1, 9), max_size=len(modified)))
    return Clock(modified_ms=modified, in_commit_ms=list(accumulate(steps)))


@settings(max_examples=examples(150))
@given(clocks(), st.lists(st.integers(0, 60), min_size=1, max_size=6))
def test_a_time_means_the_last_version_at_or_before_it(clock: Clock, times: list[int]) -> None:
    with TemporaryDirectory() as folder:
        table = headrace.Table(str(clock.write(Path(folder))))
        for ms in times:
            moment = EPOCH + timedelta(milliseconds=ms)
            expected = clock.version_at(ms)
            if expected is None:
                with pytest.raises(TimestampNotFoundError):
                    table.snapshot(as_of=moment)
            else:
                assert table.snapshot(as_of=moment).version == expected
