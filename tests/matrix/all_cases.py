"""The cases of all writers, which every engine has to read."""

from tests.matrix.case import Case
from tests.matrix.library import library_cases
from tests.matrix.stored import arrow_cases, parquet_cases

CASES = [*parquet_cases(), *arrow_cases(), *library_cases()]


def case_id(case: Case) -> str:
    return case.title
