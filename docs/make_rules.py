#!/usr/bin/env python3
"""Write docs/reference/delta-rules.md from docs/rules.toml and the names of the tests."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "docs" / "rules.toml"
PAGE = ROOT / "docs" / "reference" / "delta-rules.md"

_NAMED = re.compile(r"def test_\w*?rule_(\d\d)\w*\(")

HEAD = """\
# Reader rules

The rules that a correct reader of a Delta log follows, summarised from the protocol and from the
behaviour of its implementations. Each rule has tests with its number: `pytest -k rule_07` runs
those of rule 7. Modules are below `src/headrace`, tests below `tests`.

This page is written by `docs/make_rules.py` from `docs/rules.toml` and the names of the tests.
"""


def render(groups: list[dict[str, Any]], tests: Mapping[int, list[str]]) -> str:
    """Return the page as Markdown: one table per group."""
    return HEAD + "".join(_section(group, tests) for group in groups)


def read_groups() -> list[dict[str, Any]]:
    """Return the rules from the TOML file, by group."""
    groups: list[dict[str, Any]] = tomllib.loads(SOURCE.read_text(encoding="utf-8"))["group"]
    return groups


def find_tests() -> dict[int, list[str]]:
    """Return the test files of each rule."""
    tests: defaultdict[int, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        numbers = set(map(int, _NAMED.findall(path.read_text(encoding="utf-8"))))
        for number in numbers:
            tests[number].append(path.relative_to(ROOT / "tests").as_posix())
    return dict(tests)


def _section(group: dict[str, Any], tests: Mapping[int, list[str]]) -> str:
    lines = [f"\n## {group['title']}\n", "| | rule | kept in | tested in |", "|---|---|---|---|"]
    for rule in group["rule"]:
        number = rule["number"]
        cells = (str(number), rule["text"], _code(rule["where"]), _code(tests.get(number, [])))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _code(paths: list[str]) -> str:
    return "<br>".join(f"`{path}`" for path in paths) or "not yet"


def main() -> None:
    """Rewrite the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render(read_groups(), find_tests()), encoding="utf-8")


if __name__ == "__main__":
    main()
