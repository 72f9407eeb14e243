"""A single change to a project, with its expected effect on the fingerprint of a function."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

HEAD = "import pyarrow as pa\nfrom headrace.pipeline import function\n"
TAIL = """

@function("BIGINT", returns="BIGINT")
def points(ids):
    return pa.array([{expression} for x in ids.to_pylist()], pa.int64())
"""

Files = Mapping[str, str | bytes]


@dataclass(frozen=True)
class Change:
    """A project before and after a change, and the expected effect on the function `points`."""

    name: str
    before: Files
    after: Files
    says: str | None
    """Part of the explanation of the change; None if the fingerprint must stay the same."""
    environment: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    outside: tuple[Files, Files] = ({}, {})
    """Files of a folder on the import path, outside the project."""
    judged: bool = field(default=True)
    """Whether the result must change if and only if the fingerprint must."""


def functions(code: str, expression: str = "x") -> str:
    return HEAD + dedent(code) + TAIL.format(expression=expression)


def changed(  # noqa: PLR0913  (a row of the table)
    name: str,
    code: str,
    old: str,
    new: str,
    says: str | None,
    *,
    expression: str = "x",
    helpers: str = "",
    files: Mapping[str, str] | None = None,
    judged: bool = True,
) -> Change:
    """Replace a text in all files of a project."""
    before = {"functions.py": functions(code, expression)}
    before |= {"helpers.py": dedent(helpers)} if helpers else {}
    before |= {path: dedent(text) for path, text in (files or {}).items()}
    assert any(old in text for text in before.values()), name
    after = {path: text.replace(old, new) for path, text in before.items()}
    return Change(name, before, after, says, judged=judged)


BODY = "its body changed"


BODY = "its body changed"
ON_IMPORT = "what functions.py runs on import changed"
