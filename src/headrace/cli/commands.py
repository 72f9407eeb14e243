"""The commands by name; the module of each is imported on demand."""

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
        "state": "state",
        "sql": "sql",
    },
    "Servers": {
        "serve": "serve",
        "build-cabi": "build_cabi",
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
"""The panels of the help: each command, and the module that implements it."""


def load_command(name: str) -> Callable[..., None] | None:
    """Import and return the function of a command; None if there is no such command."""
    for modules in PANELS.values():
        if name in modules:
            command: Any = getattr(
                import_module(f"headrace.cli.{modules[name]}"), name.replace("-", "_")
            )
            loaded: Callable[..., None] = command
            return loaded
    return None
