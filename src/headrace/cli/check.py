"""`headrace check`: whether the views of a project are right, for a pipeline of CI."""

import typer

from headrace.cli.option import EngineName, ProjectFolder, Variable, parse_words


def check(
    project: ProjectFolder = ".", *, var: Variable = None, engine: EngineName = "spark"
) -> None:
    """Check every view: syntax, tables, columns, functions, types, contracts; nothing is run.

    The first mistake is shown with its file, line and column, and the exit status is 1. For
    `--engine datafusion`, so are the views that DataFusion would not compute as Spark does.

    [dim]headrace check shop --engine datafusion[/]
    """
    from headrace.errors import ViewRefusedError  # noqa: PLC0415
    from headrace.pipeline import Project  # noqa: PLC0415

    bundle = Project.load(project).plan(engine=engine, variables=parse_words("--var", var))
    refusals = {name: view.refused for name, view in bundle.views.items() if view.refused}
    if engine == "datafusion" and refusals:
        raise ViewRefusedError(refusals=refusals)
    typer.echo(f"{len(bundle.views)} views are right, for {bundle.engine}")
    for name, reason in refusals.items():
        typer.echo(f"on Spark only: {name}: {reason}")
