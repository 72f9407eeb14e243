"""The type matrix on Arrow: every case in every table over it, against two other readers."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headrace.errors import UnsupportedFileError
from tests.lake.action import add
from tests.lake.log import write_commit
from tests.lake.vector import inline_vector
from tests.listing import open_snapshot
from tests.matrix.all_cases import CASES, case_id
from tests.matrix.case import FILE, FLAT_FIELDS, Case, conditions, layouts
from tests.matrix.check import EVERYTHING, check_every_table
from tests.matrix.judge import by_the_clock, read_by
from tests.matrix.library import NESTED_FIELDS
from tests.rows.lake import table_lines
from tests.rows.naive import bag

READ = [case for case in CASES if case.refused_by_arrow is None]
REFUSED = [case for case in CASES if case.refused_by_arrow is not None]


@pytest.mark.parametrize("case", READ, ids=case_id)
def test_rows_are_exact_in_every_table_over_the_file(tmp_path: Path, case: Case) -> None:
    case.write(tmp_path / FILE)
    check_every_table(tmp_path, case)


@pytest.mark.parametrize("case", REFUSED, ids=case_id)
def test_an_unsupported_file_is_not_reported_as_damaged(tmp_path: Path, case: Case) -> None:
    case.write(tmp_path / FILE)
    layout, *_ = layouts(case)
    with pytest.raises(UnsupportedFileError) as caught:
        open_snapshot(layout.write(tmp_path, FILE)).rows().read_all()
    assert caught.value.reason == case.refused_by_arrow
    assert caught.value.writer == pq.read_metadata(tmp_path / FILE).created_by


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_other_readers_return_the_same_rows(tmp_path: Path, case: Case) -> None:
    path = tmp_path / FILE
    case.write(path)
    names = [field["name"] for field in case.fields]
    expected = bag(map(by_the_clock, case.rows), names)
    for judge in case.judges:
        assert bag(map(by_the_clock, read_by(judge, path)), names) == expected, judge


def test_two_other_readers_judge_nearly_every_case() -> None:
    alone = [case.name for case in CASES if len(case.judges) == 1]
    assert alone == ["decimal256(40, 2) as decimal(38,2)"]


@pytest.mark.parametrize("fields", ["flat", "nested"])
def test_files_of_all_writers_can_be_in_one_table(tmp_path: Path, fields: str) -> None:
    expected_fields = FLAT_FIELDS if fields == "flat" else NESTED_FIELDS
    cases = [case for case in READ if case.fields == expected_fields]
    lines, expected = table_lines(expected_fields), []
    for number, case in enumerate(cases):
        first = tmp_path / f"{number}.parquet"
        case.write(first)
        for copy, deleted in enumerate(((), (), (1, 3))):
            name = f"{number}-{copy}.parquet"
            shutil.copyfile(first, tmp_path / name)
            vector = inline_vector(deleted) if deleted else None
            lines.append(add(name, size=first.stat().st_size, vector=vector))
            expected += [row for place, row in enumerate(case.rows) if place not in deleted]
    write_commit(tmp_path, 0, lines)
    snapshot = open_snapshot(tmp_path)
    names = [field["name"] for field in expected_fields]
    same = {name: name for name in names}
    for condition in (EVERYTHING, *conditions(cases[0])):
        where = condition.text.format(**same)
        matching = [row for row in expected if condition.keeps(row)]
        rows = snapshot.rows(where).read_all()
        assert bag(rows.to_pylist(), names) == bag(matching, names), where
        assert snapshot.count(where) == len(matching)
