"""`headrace check`: checks the views of a project, for CI."""

from typing import Annotated

import typer

from headrace.cli.option import EngineName, ProjectFolder, Variable, parse_words


def check(
    project: ProjectFolder = ".",
    *,
    var: Variable = None,
    engine: EngineName = "spark",
    with_spark: Annotated[
        bool,
        typer.Option("--with-spark", help="Start Spark, and have its analyser check each view."),
    ] = False,
) -> None:
    """Check the syntax, tables, columns, functions, types and contracts of every view.

    The first mistake is printed with its file, line and column, and the exit status is 1. With
    `--engine datafusion`, views that DataFusion would not compute like Spark are mistakes, too.
    Only `--with-spark` starts a JVM.

    [dim]headrace check shop --engine datafusion[/]
    """
    from headrace.errors import ViewRefusedError  # noqa: PLC0415
    from headrace.pipeline import Project  # noqa: PLC0415

    loaded, variables = Project.load(project), parse_words("--var", var)
    judge = loaded.check if with_spark else loaded.plan
    bundle = judge(engine=engine, variables=variables)
    refusals = {name: view.refused for name, view in bundle.views.items() if view.refused}
    if engine == "datafusion" and refusals:
        raise ViewRefusedError(refusals=refusals)
    judges = f"{bundle.engine}, also by its own analyser" if with_spark else bundle.engine
    unjudged = {} if with_spark else refusals
    typer.echo(f"{len(bundle.views) - len(unjudged)} views are correct for {judges}")
    if unjudged:
        typer.echo(f"{len(unjudged)} more can be checked by Spark only: add --with-spark")
    for name, reason in refusals.items():
        typer.echo(f"on Spark only: {name}: {reason}")
