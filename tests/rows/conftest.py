"""Fixtures for tests of readers."""

from collections.abc import Iterator

import pytest

from tests.rows.lake import running


@pytest.fixture
def no_thread_is_left() -> Iterator[None]:
    """Check that a test leaves no thread of Headrace running."""
    yield
    assert running() == []
