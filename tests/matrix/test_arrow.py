"""The type matrix on Arrow: every case in every table over it, against two readers of others."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headrace.errors import UnsupportedFileError
from tests.listing import open_snapshot
from tests.matrix.case import FILE, Case, layouts
from tests.matrix.check import check_every_table
from tests.matrix.judge import by_the_clock, read_by
from tests.matrix.library import library_cases
from tests.matrix.stored import arrow_cases, parquet_cases
from tests.rows.naive import bag

CASES = [*parquet_cases(), *arrow_cases(), *library_cases()]
READ = [case for case in CASES if case.refused_by_arrow is None]
REFUSED = [case for case in CASES if case.refused_by_arrow is not None]


def case_id(case: Case) -> str:
    return case.title


@pytest.mark.parametrize("case", READ, ids=case_id)
def test_rows_are_exact_in_every_table_over_the_file(tmp_path: Path, case: Case) -> None:
    case.write(tmp_path / FILE)
    check_every_table(tmp_path, case)


@pytest.mark.parametrize("case", REFUSED, ids=case_id)
def test_a_file_that_is_not_read_is_not_called_damaged(tmp_path: Path, case: Case) -> None:
    case.write(tmp_path / FILE)
    layout, *_ = layouts(case)
    with pytest.raises(UnsupportedFileError) as caught:
        open_snapshot(layout.write(tmp_path, FILE)).rows().read_all()
    assert caught.value.reason == case.refused_by_arrow
    assert caught.value.writer == pq.read_metadata(tmp_path / FILE).created_by


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_readers_of_others_find_the_same_rows(tmp_path: Path, case: Case) -> None:
    path = tmp_path / FILE
    case.write(path)
    names = [field["name"] for field in case.fields]
    expected = bag(map(by_the_clock, case.rows), names)
    for judge in case.judges:
        assert bag(map(by_the_clock, read_by(judge, path)), names) == expected, judge


def test_two_readers_of_others_judge_nearly_every_case() -> None:
    alone = [case.name for case in CASES if len(case.judges) == 1]
    assert alone == ["decimal256(40, 2) as decimal(38,2)"]
