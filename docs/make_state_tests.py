#!/usr/bin/env python3
"""Write docs/reference/state-tests.md: the tests that the state's design names, and ours.

Fails if a name has no test, or if a listed test does not exist.
"""

import re
import tomllib
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGE = DOCS / "reference" / "state-tests.md"
NAMED = DOCS / "state_tests.toml"
COUNT = 144
"""The number of tests that the design names."""

HEAD = """\
# Tests of the state

The design of the Avro state names 144 tests. Each corresponds to a test of ours, or to a benchmark
if it is about time or size; Kryo and Java serialisation correspond to pickle. This page is written
by `docs/make_state_tests.py`, which fails if a test is missing.

| named in the design | ours |
|---|---|
"""


def read_named() -> dict[str, str]:
    """Return our `file::test` for each name."""
    sections: dict[str, dict[str, str]] = tomllib.loads(NAMED.read_text(encoding="utf-8"))
    named = {name: ours for section in sections.values() for name, ours in section.items()}
    if sum(map(len, sections.values())) != COUNT or len(named) != COUNT:
        raise SystemExit(f"{len(named)} tests are named, and there are {COUNT}")
    return named


def missing(named: dict[str, str]) -> list[str]:
    """Return the names whose test does not exist."""
    return [name for name, ours in named.items() if not _exists(ours)]


def _exists(ours: str) -> bool:
    path, _, test = ours.partition("::")
    file = ROOT / path
    if not file.exists():
        return False
    text = file.read_text(encoding="utf-8")
    return re.search(rf"^def {re.escape(test)}\b", text, re.MULTILINE) is not None


def render(named: dict[str, str]) -> str:
    """Return the page as Markdown."""
    return HEAD + "".join(f"| `{name}` | `{ours}` |\n" for name, ours in named.items())


if __name__ == "__main__":
    named = read_named()
    PAGE.write_text(render(named), encoding="utf-8")
    if untested := missing(named):
        raise SystemExit(f"no test for: {', '.join(untested)}")
