"""Property tests read thousands of logs, many of them with something to warn of."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    """Warnings are tested elsewhere; here they would only fill memory."""
    logger = logging.getLogger("headrace")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)
