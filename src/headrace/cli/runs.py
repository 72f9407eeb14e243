"""`headrace runs`, `headrace show`, `headrace diff` and `headrace vacuum`."""

from typing import Annotated

import typer

from headrace.cli.console import make_grid, plain_console, print_grid, print_json
from headrace.cli.option import AsJson, ProjectFolder, RunName
from headrace.errors import InvalidArgumentError
from headrace.metrics.counts import counted


def runs(
    project: ProjectFolder = ".",
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="COUNT", help="List at most COUNT runs.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs of a project, newest first.

    [dim]headrace runs shop[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    records = Project.load(project).runs(limit=limit)
    if as_json:
        print_json(records)
        return
    grid = make_grid("run", "kind", "status", "took", "engine", "bundle")
    for record in records:
        grid.add_row(
            record.id,
            record.kind.value,
            record.status.value,
            _duration(record.duration_ms),
            record.engine,
            record.bundle[:12],
        )
    print_grid(grid)


def show(
    run: RunName,
    project: ProjectFolder = ".",
    *,
    plans: Annotated[
        str | None,
        typer.Option("--plans", metavar="VIEW", help="Show the plans of this view."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a run: the outcome of each view, and why.

    [dim]headrace show latest shop --plans revenue_by_city[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    loaded = Project.load(project)
    record = loaded.show(run)
    if plans is not None:
        stages = loaded.store.plans(record, plans)
        if not stages:
            reason = f"run {record.id} has no plans of a view {plans}: did the view run in it?"
            raise InvalidArgumentError(argument="--plans", reason=reason)
        for stage, text in stages.items():
            plain_console().print(f"== {stage} ==\n{text}\n")
        return
    if as_json:
        print_json(record)
        return
    console = plain_console()
    console.print(
        f"{record.kind} {record.id}: {record.status}, {_duration(record.duration_ms)}, "
        f"{record.engine}, bundle {record.bundle[:12]}"
    )
    grid = make_grid("view", "status", "rows", "digest", "version", "took", "jobs")
    for view in record.views.values():
        grid.add_row(
            view.view,
            view.status.value,
            "" if view.rows is None else f"{view.rows:,}",
            "" if view.digest is None else view.digest.rows_digest[:12],
            "" if view.output is None else str(view.output.version),
            _duration(view.duration_ms) if view.started_ms else "",
            str(len(view.job_ids)) if view.job_ids else "",
        )
    print_grid(grid)
    for view in record.views.values():
        console.print(f"{view.view}: {view.failure or view.reason}")
        for warning in (*view.volatile, *view.warnings):
            console.print(f"  warning: {warning}")
        if view.fallback is not None:
            console.print(f"  fallback: its SQL was run, not its stored plan: {view.fallback}")
    console.print(f"fallbacks: {len(record.fallbacks) or 'none'}")
    pins = ", ".join(f"{name}@{version}" for name, version in sorted(record.pins.items()))
    console.print(f"pinned: {pins or 'nothing'}")


def diff(
    run: RunName,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The run to compare with.")],
    project: ProjectFolder = ".",
    *,
    as_json: AsJson = False,
) -> None:
    """Show the differences between two runs: versions, settings, code, results.

    [dim]headrace diff 20260301 latest shop[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    difference = Project.load(project).diff(run, other)
    if as_json:
        print_json(difference)
        return
    facts = make_grid("what", difference.first, difference.second)
    for name, (then, now) in difference.facts.items():
        facts.add_row(name, then, now)
    if difference.facts:
        print_grid(facts)
    views = make_grid("view", "result", "rows", "why")
    for view in difference.views:
        rows = " → ".join("none" if count is None else f"{count:,}" for count in view.rows)
        views.add_row(view.view, view.sameness.value, rows, "\n".join(map(str, view.causes)))
    print_grid(views)


def vacuum(  # noqa: PLR0913  (one parameter an option)
    project: ProjectFolder = ".",
    *,
    keep_pins: Annotated[
        bool,
        typer.Option(
            "--keep-pins/--no-keep-pins", help="Keep every file that a retained run needs."
        ),
    ] = True,
    keep_runs: Annotated[
        int | None,
        typer.Option(
            "--keep-runs",
            min=0,
            metavar="COUNT",
            help="Keep the newest runs; by default all.",
        ),
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Vacuum the sources too, not only the outputs.")
    ] = False,
    retention_hours: Annotated[
        int | None,
        typer.Option(
            "--retention-hours",
            min=0,
            metavar="HOURS",
            help="Keep removed files this long; by default the setting of each table, or a week.",
        ),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Delete the files; by default they are only listed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete unused files, but none that a retained run needs for a replay.

    [dim]headrace vacuum shop --keep-pins --apply[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    loaded = Project.load(project)
    vacuumed = loaded.vacuum(
        keep_pins=keep_pins,
        keep_runs=keep_runs,
        with_sources=sources,
        retention_hours=retention_hours,
        dry_run=not apply,
    )
    if as_json:
        print_json(vacuumed)
        return
    action = "removed" if apply else "would remove"
    console = plain_console()
    for table in vacuumed:
        noun = "version" if len(table.kept_versions) == 1 else "versions"
        versions = ", ".join(map(str, table.kept_versions)) or "none"
        console.print(
            f"{table.table}: {action} {counted(len(table.files), 'file')}; "
            f"{noun} needed by runs: {versions}"
        )
        for file in table.files:
            console.print(f"  {file}")


def _duration(duration_ms: int | None) -> str:
    return "" if duration_ms is None else f"{duration_ms / 1000:.1f} s"
