#!/usr/bin/env python3
"""Write docs/reference/errors.md from the classes of headrace.errors."""

import inspect
from pathlib import Path

from headrace import errors
from headrace.cli.ending import INTERRUPTED, STATUSES, status_of
from headrace.errors import HeadraceError

PAGE = Path(__file__).resolve().parent / "reference" / "errors.md"

HEAD = """\
# Errors

Every error that Headrace raises deliberately is a `HeadraceError`. Catch a family, or switch on
`code`. The message ends with the next step if there is one. The facts in the message are also
attributes; `error.fields` has all of them by name.

```python
import headrace
from headrace.errors import TableError

try:
    headrace.Table("demo-lake/events").snapshot(version=1_000_000)
except TableError as error:
    print(error.code, error.fields)
```

The [command line](../guide/command-line.md#exit-statuses) ends with the exit status of the family.
This page is written by `docs/make_errors.py`.
"""


def render() -> str:
    """Return the page as Markdown: one section per family, one row per class."""
    return HEAD + "".join(map(_section, _below(HeadraceError))) + _statuses()


def _section(family: type[HeadraceError]) -> str:
    lines = [
        f"\n## {family.__name__}\n",
        f"{_meaning(family)} Exit status {_status(family)}.\n",
        "| code | class | meaning | fields |",
        "|---|---|---|---|",
    ]
    for kind in _coded(family):
        fields = ", ".join(f"`{name}`" for name in _fields(kind)) or "none"
        lines.append(f"| `{kind.code}` | `{kind.__name__}` | {_meaning(kind)} | {fields} |")
    return "\n".join(lines) + "\n"


def _statuses() -> str:
    lines = [
        "\n## Exit statuses\n",
        "| status | meaning | family |",
        "|---|---|---|",
        "| 0 | done | |",
        *(f"| {status} | {meaning} | `{kind.__name__}` |" for kind, status, meaning in STATUSES),
        f"| {INTERRUPTED} | interrupted | |",
    ]
    return "\n".join(lines) + "\n"


def _below(kind: type[HeadraceError]) -> list[type[HeadraceError]]:
    """Return the direct subclasses, in the order in which `headrace.errors` draws its tree."""
    tree = inspect.getdoc(errors) or ""
    below = [
        error for error in kind.__subclasses__() if error.__module__.startswith(errors.__name__)
    ]
    return sorted(below, key=lambda error: tree.index(f" {error.__name__} "))


def _coded(kind: type[HeadraceError]) -> list[type[HeadraceError]]:
    """Return all subclasses that have a code of their own, including those of nested families."""
    return [
        error
        for below in _below(kind)
        for error in [*([below] if "code" in vars(below) else []), *_coded(below)]
    ]


def _meaning(kind: type[HeadraceError]) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _fields(kind: type[HeadraceError]) -> list[str]:
    return [name for name in inspect.signature(kind).parameters if name not in {"args", "kwargs"}]


def _status(family: type[HeadraceError]) -> int:
    return status_of(family.__new__(family))


def main() -> None:
    """Rewrite the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
