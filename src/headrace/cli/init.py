"""`headrace init`: creates a small working project."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from headrace.errors import InvalidArgumentError


def init(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="The folder to create the project in.")
    ] = ".",
) -> None:
    """Create a small working project, with small tables, to start from.

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
