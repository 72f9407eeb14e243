from pathlib import Path

import pytest

from tests.pipeline.planning.lake import write_lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lake(tmp_path_factory.mktemp("planning"))
