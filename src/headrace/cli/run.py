"""`headrace run`, `headrace replay`, `headrace verify` and `headrace why`."""

from typing import Annotated, Any

import typer

from headrace.cli.console import make_grid, plain_console, print_grid, print_json
from headrace.cli.option import (
    AsJson,
    Pin,
    ProjectFolder,
    RunName,
    Variable,
    parse_words,
)

Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        "-s",
        metavar="VIEW",
        help="Run these views: a name, a pattern, +name with its inputs, name+ with its readers; "
        "may be repeated.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", "-x", metavar="VIEW", help="Do not run these views; same forms."),
]
ProfileName = Annotated[
    str,
    typer.Option(
        "--profile", metavar="NAME", help="A profile of headrace.toml, which sets resources."
    ),
]
RunEngine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="The runner: spark or datafusion; by default spark, or that of the bundle.",
    ),
]
OtherEngine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Replay on a different runner: spark or datafusion.",
    ),
]
NewestEngine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="The runner: spark or datafusion; by default that of the newest result.",
    ),
]
LastEngine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="The runner: spark or datafusion; by default that of the view's last run.",
    ),
]


def run(  # noqa: PLR0913  (one parameter an option)
    project: ProjectFolder = ".",
    *,
    select: Select = None,
    exclude: Exclude = None,
    full_refresh: Annotated[
        bool,
        typer.Option("--full-refresh", help="Run every selected view, and rewrite outputs."),
    ] = False,
    var: Variable = None,
    pin: Pin = None,
    profile: ProfileName = "default",
    engine: RunEngine = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would run, and why.")
    ] = False,
    analyse: Annotated[
        bool,
        typer.Option(
            "--analyse", help="Record the metrics of each operator of the physical plans."
        ),
    ] = False,
    bundle: Annotated[
        str | None,
        typer.Option(
            "--bundle",
            metavar="ID",
            help="Run this stored bundle as it was planned, instead of planning the project.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the views of a project that have changed, and skip the others.

    [dim]headrace run shop --select +revenue_by_city --var first_day=2026-03-01[/]
    """
    from headrace.cli.run_display import progress_for  # noqa: PLC0415
    from headrace.pipeline import Project  # noqa: PLC0415
    from headrace.pipeline.sources.source_pin import parse_pins  # noqa: PLC0415

    loaded = Project.load(project)
    arguments: dict[str, Any] = {
        "engine": engine,
        "select": select or (),
        "exclude": exclude or (),
        "variables": parse_words("--var", var),
        "pins": parse_pins(pin or ()),
        "full_refresh": full_refresh,
        "bundle": bundle,
    }
    if dry_run:
        _render_decisions(loaded.decide(**arguments), as_json=as_json)
        return
    progress = progress_for(as_json=as_json)
    with progress:
        record = loaded.run(**arguments, profile=profile, analyse=analyse, progress=progress)
    _end(record, as_json=as_json)


def replay(
    run: RunName,
    project: ProjectFolder = ".",
    *,
    engine: OtherEngine = None,
    profile: ProfileName = "default",
    as_json: AsJson = False,
) -> None:
    """Compute the views of a run again from the same files, and compare the results.

    [dim]headrace replay latest shop --engine datafusion[/]
    """
    from headrace.cli.run_display import progress_for  # noqa: PLC0415
    from headrace.pipeline import Project  # noqa: PLC0415

    progress = progress_for(as_json=as_json)
    with progress:
        record = Project.load(project).replay(
            run, engine=engine, profile=profile, progress=progress
        )
    _end(record, as_json=as_json)


def verify(  # noqa: PLR0913  (one parameter an option)
    project: ProjectFolder = ".",
    *,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample", min=1, metavar="COUNT", help="Verify this many views, chosen at random."
        ),
    ] = None,
    select: Select = None,
    exclude: Exclude = None,
    profile: ProfileName = "default",
    engine: NewestEngine = None,
    as_json: AsJson = False,
) -> None:
    """Compute views that a run would skip, and compare them with the stored results.

    [dim]headrace verify shop --sample 5[/]
    """
    from headrace.cli.run_display import progress_for  # noqa: PLC0415
    from headrace.pipeline import Project  # noqa: PLC0415

    progress = progress_for(as_json=as_json)
    with progress:
        record = Project.load(project).verify(
            sample=sample,
            engine=engine,
            profile=profile,
            select=select or (),
            exclude=exclude or (),
            progress=progress,
        )
    _end(record, as_json=as_json)


def why(
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The name of the view.")],
    project: ProjectFolder = ".",
    *,
    engine: LastEngine = None,
    as_json: AsJson = False,
) -> None:
    """Explain why a view would run or be skipped: what changed since its last run.

    [dim]headrace why revenue_by_city shop[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    decision = Project.load(project).why(view, engine=engine)
    if as_json:
        _render_decisions({view: decision}, as_json=True)
        return
    console = plain_console()
    console.print(f"{view}: {decision.action.value}")
    for line in decision.causes or (decision.reason,):
        console.print(f"  {line}")


def _end(record: Any, *, as_json: bool) -> None:
    """Print the record, and fail if a view failed."""
    if as_json:
        print_json(record)
    record.check()


def _render_decisions(decisions: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        facts = [
            {
                "view": decision.view,
                "action": decision.action,
                "reason": decision.reason,
                "causes": decision.causes,
                "skip_key": decision.skip_key,
                "last_run": None if decision.last is None else decision.last.run,
            }
            for decision in decisions.values()
        ]
        print_json(facts)
        return
    grid = make_grid("view", "would", "why")
    for decision in decisions.values():
        grid.add_row(decision.view, decision.action.value, decision.reason)
    print_grid(grid)
