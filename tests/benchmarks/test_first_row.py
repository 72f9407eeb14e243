"""The benchmark of the first rows: its contestants are right, and a wrong answer ends it."""

from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.first_row import CONTESTANTS, DATA_FILES, ROWS_A_FILE, check, open_table
from tests.listing import open_snapshot


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = {"commits": 6, "adds": 60, "parts": 3, "row_group_rows": 500}
    return open_table(2000, below=tmp_path_factory.mktemp("lakes"), **shape)


@pytest.mark.parametrize("contestant", ["headrace", "deltalake"])
def test_a_contestant_returns_rows_of_the_day(table: Path, contestant: str) -> None:
    check(CONTESTANTS[contestant](str(table))())


def test_only_the_newest_files_exist(table: Path) -> None:
    files = list(open_snapshot(table).scan())
    existing = [file for file in files if Path(file.uri).exists()]
    assert len(files) > len(existing) == DATA_FILES


@pytest.mark.parametrize("limit", [9, 11])
def test_another_number_of_rows_is_a_wrong_answer(table: Path, limit: int) -> None:
    answer = open_snapshot(table).rows(where="date = '2031-01-01'", limit=limit).read_all()
    with pytest.raises(SystemExit, match="wrong rows"):
        check(answer)


def test_a_changed_row_is_a_wrong_answer(table: Path) -> None:
    answer = CONTESTANTS["headrace"](str(table))()
    amounts = pa.array([float(DATA_FILES * ROWS_A_FILE)] * answer.num_rows)
    changed = answer.set_column(answer.column_names.index("amount"), "amount", amounts)
    with pytest.raises(SystemExit, match="wrong rows"):
        check(changed)
