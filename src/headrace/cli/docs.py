"""`headrace docs`: writes one page about a project."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.option import ProjectFolder


class Format(StrEnum):
    """The output formats of a project page."""

    HTML = "html"
    MERMAID = "mermaid"


def docs(
    project: ProjectFolder = ".",
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The file to write; by default headrace.html in the project's folder.",
        ),
    ] = None,
    output: Annotated[
        Format, typer.Option("--format", "-f", help="html for a browser, mermaid for a README.")
    ] = Format.HTML,
) -> None:
    """Write one page about a project: its graph, and the SQL, columns, files and runs of each view.

    The page needs no network. Mermaid goes to standard output unless there is --out.

    [dim]headrace docs shop && open shop/headrace.html[/]
    """
    from headrace.pipeline.page.project_page import project_mermaid, project_page  # noqa: PLC0415

    if output is Format.MERMAID:
        text = project_mermaid(project)
        if out is None:
            typer.echo(text, nl=False)
            return
    else:
        text = project_page(project)
    target = out or Path(project) / "headrace.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {target} ({len(text.encode()) / 1024:,.0f} KiB)")
