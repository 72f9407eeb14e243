#!/usr/bin/env python3
"""Write docs/reference/differences.md from the list that the conformance tests verify."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tests" / "conformance" / "deltalake_differences.json"
PAGE = ROOT / "docs" / "reference" / "differences.md"

HEAD = """\
# Differences from deltalake

Headrace and deltalake 1.6.6 list the same files for all real tables of the conformance suite
except the ones below. The tests fail if an unlisted table differs, or if a listed one does not.
This page is written by `docs/make_differences.py`.
"""


def render(differences: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return the page as Markdown: real tables first, then small ones made for the purpose."""
    real = [(f"`{name}`", row) for name, row in differences["fixtures"].items()]
    generated = [(row["title"], row) for row in differences["generated"].values()]
    sections = [("Real tables", real), ("Tables made for the purpose", generated)]
    return HEAD + "".join(_section(title, rows) for title, rows in sections)


def _section(title: str, rows: list[tuple[str, dict[str, Any]]]) -> str:
    lines = [
        f"\n## {title}\n",
        "| table | deltalake says | we say | why we are right |",
        "|---|---|---|---|",
    ]
    for name, row in rows:
        cells = (name, _answer(row["deltalake"]), _answer(row["headrace"]), row["why"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _answer(answer: str | int) -> str:
    match answer:
        case int():
            return f"{answer} live file{'' if answer == 1 else 's'}"
        case "refuses":
            return "refuses"
        case code:
            return f"refuses: `{code}`"


def main() -> None:
    """Rewrite the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render(json.loads(SOURCE.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
