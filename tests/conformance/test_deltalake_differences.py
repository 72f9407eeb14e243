"""Every difference between our answers and deltalake's is listed, with a reason."""

from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from headrace.errors import HeadraceError
from tests.conformance.fixture import Fixture, fixture_params, read_json
from tests.conformance.generated import CASES
from tests.listing import open_snapshot
from tests.oracle import canonical

DIFFERENCES: dict[str, dict[str, dict[str, Any]]] = read_json("deltalake_differences.json")
Answer: TypeAlias = str | list[tuple[str, int]]
"""The files by path and size, or how the table was refused."""


def _ours(table: Path) -> Answer:
    try:
        files = list(open_snapshot(table).scan())
    except HeadraceError as refusal:
        return refusal.code
    return sorted((canonical(file.path), file.size_bytes) for file in files)


def _theirs(table: Path) -> Answer:
    """Return deltalake's answer: paths as the log spells them, without deletion vector ids."""
    try:
        adds = pa.table(DeltaTable(str(table)).get_add_actions())
    except DeltaError:
        return "refuses"
    columns = (adds["path"].to_pylist(), adds["size_bytes"].to_pylist())
    return sorted((canonical(path), size) for path, size in zip(*columns, strict=True))


def _differ(ours: Answer, theirs: Answer) -> bool:
    both_refuse = isinstance(ours, str) and isinstance(theirs, str)
    return not both_refuse and ours != theirs


def _summary(answer: Answer) -> str | int:
    return answer if isinstance(answer, str) else len(answer)


@pytest.mark.parametrize("fixture", fixture_params())
def test_a_fixture_differs_exactly_if_it_is_listed(fixture: Fixture) -> None:
    ours, theirs = _ours(fixture.table), _theirs(fixture.table)
    answers = {"headrace": _summary(ours), "deltalake": _summary(theirs)}
    listed = DIFFERENCES["fixtures"].get(fixture.name)
    expected = listed and {side: listed[side] for side in answers}
    assert (answers if _differ(ours, theirs) else None) == expected


@pytest.mark.parametrize("case", CASES)
def test_a_generated_table_differs_as_it_is_listed(case: str, tmp_path: Path) -> None:
    CASES[case](tmp_path)
    ours, theirs = _ours(tmp_path), _theirs(tmp_path)
    listed = DIFFERENCES["generated"][case]
    assert _differ(ours, theirs)
    assert _summary(ours) == listed["headrace"]
    assert _summary(theirs) == listed["deltalake"]


def test_every_listed_generated_table_is_created() -> None:
    assert DIFFERENCES["generated"].keys() == CASES.keys()
