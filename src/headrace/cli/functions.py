"""`headrace functions`: lists the functions that views may call besides Spark's own."""

from typing import Any

from headrace.cli.console import make_grid, plain_console, print_grid, print_json
from headrace.cli.option import AsJson, ProjectFolder


def functions(project: ProjectFolder = ".", *, as_json: AsJson = False) -> None:
    """List the functions of a project: the standard ones and its own.

    Without a project, only the standard ones are listed.

    [dim]headrace functions shop[/]
    """
    facts = _facts(project)
    if as_json:
        print_json(facts)
        return
    grid = make_grid("function", "kind", "signature", "volatility", "from", "what it does")
    for fact in facts:
        grid.add_row(
            *(fact[key] for key in ("name", "kind", "signature", "volatility", "origin")),
            fact["description"].partition("\n")[0],
        )
    print_grid(grid)
    console = plain_console()
    for fact in facts:
        for whole in fact["widened"]:
            console.print(f"{fact['name']} covers {whole}")
        if fact["runs_always"]:
            console.print(f"Views run every time: {fact['runs_always']}")


def _facts(project: str) -> list[dict[str, Any]]:
    from headrace.errors import ProjectNotFoundError  # noqa: PLC0415
    from headrace.pipeline import Project  # noqa: PLC0415
    from headrace.pipeline.functions.catalog import standard_catalog  # noqa: PLC0415

    try:
        catalog = Project.load(project).catalog
    except ProjectNotFoundError:
        if project != ".":
            raise
        catalog = standard_catalog()
    return [
        {
            "name": entry.function.name,
            "kind": entry.function.kind.value,
            "signature": str(entry.function.signature),
            "argument_names": entry.function.argument_names,
            "alias_of": None if entry.declared is None else entry.declared.name,
            "volatility": entry.function.volatility.value,
            "origin": entry.origin,
            "fingerprint": catalog.part(entry.function.name).fingerprint,
            "widened": catalog.part(entry.function.name).widened,
            "runs_always": catalog.why_run(entry.function.name),
            "description": entry.function.description,
        }
        for entry in catalog
    ]
