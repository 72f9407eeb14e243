#!/usr/bin/env python3
"""Write docs/reference/keys.md from the table of changes that the tests run."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.pipeline.mutations.mutation import NONE, OTHER, Mutation  # noqa: E402
from tests.pipeline.mutations.table import SECTIONS  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "keys.md"

HEAD = """\
# What re-runs a view

A view is skipped while its [skip key](../guide/pipelines.md#three-hashes) is unchanged. Each row is
one change to a project or its lake, with its effect on the view's plan fingerprint, its skip key
and the bundle's id, and the reason that `headrace why` prints. A view without a key runs every
time. A test makes every one of these changes.

This page is written by `docs/make_keys.py`.
"""


def render() -> str:
    """Return the page as Markdown: one table per section, one row per change."""
    return HEAD + "".join(_section(title, rows) for title, rows in SECTIONS.items())


def _section(title: str, rows: list[Mutation]) -> str:
    lines = [f"\n## {title}\n", "| change | plan | key | id | why |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *map(_row, rows)]) + "\n"


def _row(row: Mutation) -> str:
    hashes = " | ".join(_shown(value) for value in (row.plan, row.key, row.bundle))
    why = "" if row.cause is None else row.cause[1].replace("|", "\\|")
    return f"| {row.name} | {hashes} | {why} |"


def _shown(value: str) -> str:
    return f"**{value}**" if value in {OTHER, NONE} else value


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
