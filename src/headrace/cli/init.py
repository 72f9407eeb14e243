"""`headrace init`: a new project, small and working."""

from pathlib import Path
from typing import Annotated

import typer


def init(
    folder: Annotated[Path, typer.Argument(help="Where to write it.")] = Path(),
) -> None:
    """Write a small project that works, with small tables: a start for one's own.

    [dim]headrace init shop && headrace plan shop[/]
    """
    from headrace.pipeline.requirement import require_planner  # noqa: PLC0415

    require_planner()
    from headrace.pipeline.project.scaffold import write_project  # noqa: PLC0415

    for file in write_project(folder):
        typer.echo(f"wrote {file}")
    typer.echo(f"wrote {folder / 'lake'} (orders, customers)")
    typer.echo(f"next: headrace plan {folder}, then headrace run {folder}")
