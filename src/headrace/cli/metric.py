"""Prints the metrics of a command."""

import sys
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import msgspec
import typer


class Metrics(StrEnum):
    """The output formats of metrics."""

    TABLE = "table"
    JSON = "json"


MetricsOption: TypeAlias = Annotated[
    Metrics | None,
    typer.Option("--metrics", help="Print metrics to standard error at the end."),
]


def write_metrics(numbers: dict[str, Any], form: Metrics | None, *, title: str) -> None:
    """Write metrics to standard error if a format was requested."""
    if form is None:
        return
    if form is Metrics.JSON:
        sys.stderr.write(msgspec.json.encode(numbers).decode() + "\n")
        return
    from rich.table import Table as Grid  # noqa: PLC0415  (it takes long to import)

    from headrace.cli.console import Console  # noqa: PLC0415

    grid = Grid("metric", "value", title=title, title_justify="left")
    for name, value in numbers.items():
        shown = f"{value:,.2f}" if isinstance(value, float) else str(value)
        grid.add_row(name, shown)
    Console(stderr=True, highlight=False).print(grid)
