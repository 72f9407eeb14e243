"""Every rule for a correct Delta reader has a test that is named after it."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
RULES = range(1, 36)


def _tested() -> set[int]:
    names = re.compile(r"def test_\w*?rule_(\d\d)\w*\(")
    return {
        int(number)
        for path in TESTS.rglob("test_*.py")
        for number in names.findall(path.read_text(encoding="utf-8"))
    }


def test_every_rule_has_a_test() -> None:
    assert set(RULES) - _tested() == set()
