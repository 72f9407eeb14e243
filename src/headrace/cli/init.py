"""`headrace init`: a new project, small and working."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from headrace.errors import InvalidArgumentError


def init(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where to write it.")] = ".",
) -> None:
    """Write a small project that works, with small tables: a start for one's own.

    [dim]headrace init shop && headrace plan shop[/]
    """
    from headrace.pipeline.requirement import require_planner  # noqa: PLC0415

    require_planner()
    from headrace.pipeline.project.scaffold import write_project  # noqa: PLC0415

    if not folder:
        raise InvalidArgumentError(argument="FOLDER", reason="it is empty; write . for this one")
    for file in write_project(Path(folder)):
        typer.echo(f"wrote {file}")
    typer.echo(f"wrote {Path(folder) / 'lake'} (orders, customers)")
    typer.echo(f"next: headrace plan {quote(folder)}, then headrace run {quote(folder)}")
