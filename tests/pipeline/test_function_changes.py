"""A function whose result changes gets another fingerprint, whatever part of it changed.

The results are not predicted but computed, by running every project before and after its change in
a separate process.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import event, given, settings

from headrace.pipeline.functions.catalog import describe_change
from headrace.pipeline.functions.fingerprint import FunctionPart
from tests.effort import examples
from tests.pipeline.function_changes.change import Change, Files
from tests.pipeline.function_changes.table import CHANGES
from tests.pipeline.function_judge import Judge, Judgement
from tests.pipeline.function_programs import Program, changed_programs

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "function-fingerprints.md"
Judged = dict[str, tuple[Judgement, Judgement]]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as judge:
        yield judge


@pytest.fixture(scope="module")
def judged(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Return each change's results before and after, computed in a different folder each time."""
    folder = tmp_path_factory.mktemp("projects")

    def one(change: Change, index: int) -> Judgement:
        place = folder / f"{change.name} {index}"
        root, outside = place / "project", place / "outside"
        write(root, (change.before, change.after)[index])
        write(outside, change.outside[index])
        return judge.judge(root, outside=outside, environment=change.environment[index])

    return {change.name: (one(change, 0), one(change, 1)) for change in CHANGES}


def write(folder: Path, files: Files) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def part_of(judgement: Judgement) -> FunctionPart:
    assert judgement.part is not None, judgement.error
    return judgement.part


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_a_fingerprint_changes_with_what_the_function_depends_on(
    change: Change, judged: Judged
) -> None:
    before, after = map(part_of, judged[change.name])
    changes = describe_change(before, after)
    assert (before.fingerprint != after.fingerprint) == (change.says is not None), changes
    assert any(change.says in text for text in changes) if change.says else not changes, changes


@pytest.mark.parametrize(
    "change", [change for change in CHANGES if change.judged], ids=lambda change: change.name
)
def test_the_result_changes_only_with_the_fingerprint(change: Change, judged: Judged) -> None:
    before, after = judged[change.name]
    assert (before.error, after.error) == (None, None)
    assert (before.result != after.result) == (change.says is not None)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_the_page_of_fingerprints_matches_the_changes(change: Change, judged: Judged) -> None:
    before, after = map(part_of, judged[change.name])
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    [(_, moved, says)] = [row for row in rows if row[0] == f"| {change.name}"]
    assert moved == ("same" if change.says is None else "**other**")
    assert says.removesuffix(" |").strip() in (describe_change(before, after) or [""])


@settings(max_examples=examples(60), deadline=None)
@given(programs=changed_programs())
def test_another_result_has_another_fingerprint_whatever_the_program(
    programs: tuple[Program, Program], judge: Judge, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("programs")
    for index, program in enumerate(programs):
        write(folder / str(index), program)
    before, after = (judge.judge(folder / str(i), outside=folder / "none") for i in range(2))
    shutil.rmtree(folder)
    if before.part is None or after.part is None:
        event("a program fails")
        return
    same_result = before.result == after.result
    same_fingerprint = before.part.fingerprint == after.part.fingerprint
    event(f"same result: {same_result}, same fingerprint: {same_fingerprint}")
    assert same_result or not same_fingerprint or after.part.unproven
