"""The commands by name, each in a module of its own that is imported when it is needed."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

PANELS: dict[str, dict[str, str]] = {
    "Tables": {
        "files": "files",
        "rows": "rows",
        "count": "count",
        "history": "history",
        "changes": "changes",
        "schema": "schema",
        "snapshot": "snapshot",
        "explain": "explain",
    },
    "Projects": {
        "init": "init",
        "check": "check",
        "plan": "plan",
        "lineage": "lineage",
        "functions": "functions",
        "docs": "docs",
    },
    "Runs": {
        "run": "run",
        "why": "run",
        "runs": "runs",
        "show": "runs",
        "diff": "runs",
        "replay": "run",
        "verify": "run",
        "vacuum": "runs",
    },
}
"""The panels of the help: each command, and the module of this room that has it."""


def load_command(name: str) -> Callable[..., None] | None:
    """The function behind a command; None: there is no such command."""
    for modules in PANELS.values():
        if name in modules:
            command: Any = getattr(import_module(f"headrace.cli.{modules[name]}"), name)
            loaded: Callable[..., None] = command
            return loaded
    return None
