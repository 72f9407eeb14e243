"""The page for deltalake users: both libraries give the same answers, ours in no more lines."""

from pathlib import Path
from typing import Any

import pytest

from tests.docs.page import DOCS, Block, runnable

PAGE = DOCS / "guide" / "from-deltalake.md"


def _questions() -> list[tuple[Block, Block]]:
    blocks = [block for block in runnable(PAGE) if "answer = " in block.body]
    return list(zip(blocks[::2], blocks[1::2], strict=True))


def _lines(block: Block) -> list[str]:
    return [line.strip() for line in block.body.splitlines() if line.strip()]


def test_there_are_ten_questions() -> None:
    assert len(_questions()) == 10


@pytest.mark.parametrize("question", _questions(), ids=lambda pair: f"line {pair[0].line}")
def test_an_answer_is_no_longer_than_with_deltalake(question: tuple[Block, Block]) -> None:
    ours, theirs = (len(_lines(block)) for block in question)
    assert ours <= theirs


def test_both_libraries_return_the_same_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo-lake").mkdir()
    names: dict[str, Any] = {"__name__": "guide"}
    answers: list[Any] = []
    for block in runnable(PAGE):
        exec(compile(block.body, f"{PAGE.name}:{block.line}", "exec"), names)
        if "answer" in names:
            answers.append(names.pop("answer"))
    for ours, theirs in zip(answers[::2], answers[1::2], strict=True):
        assert ours == theirs
    assert len(answers) == 20
