"""`headrace build-cabi`: compiles the C library."""

from pathlib import Path
from typing import Annotated

import typer

from headrace.serve.wiring import build_cabi as build


def build_cabi(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to put it.")] = Path(
        "headrace-c"
    ),
) -> None:
    """Compile the C library for other languages, with its header and examples.

    [dim]headrace build-cabi /opt/headrace[/]
    """
    for path in build(folder):
        typer.echo(path)
