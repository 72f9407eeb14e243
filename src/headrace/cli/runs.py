"""`headrace runs`, `headrace show`, `headrace diff` and `headrace vacuum`."""

from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table as Grid

from headrace.cli.console import Console
from headrace.cli.option import AsJson, ProjectFolder
from headrace.errors import InvalidArgumentError

RunName = Annotated[str, typer.Argument(metavar="RUN", help="An id, its beginning, or latest.")]


def runs(
    project: ProjectFolder = ".",
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs of a project, newest first.

    [dim]headrace runs shop[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    found = Project.load(project).runs(limit=limit)
    if as_json:
        _write_json(found)
        return
    grid = _grid("run", "kind", "status", "took", "engine", "bundle")
    for record in found:
        grid.add_row(
            record.id,
            record.kind.value,
            record.status.value,
            _duration(record.duration_ms),
            record.engine,
            record.bundle[:12],
        )
    _console().print(grid)


def show(
    run: RunName,
    project: ProjectFolder = ".",
    *,
    plans: Annotated[
        str | None, typer.Option("--plans", metavar="VIEW", help="Show the plans of a view.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a run: what became of each view, and why.

    [dim]headrace show latest shop --plans revenue[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    loaded = Project.load(project)
    record = loaded.show(run)
    if plans is not None:
        found = loaded.store.plans(record, plans)
        if not found:
            reason = f"run {record.id} kept no plans of a view {plans}: did it run in it?"
            raise InvalidArgumentError(argument="--plans", reason=reason)
        for stage, text in found.items():
            _console().print(f"== {stage} ==\n{text}\n", soft_wrap=True)
        return
    if as_json:
        _write_json(record)
        return
    console = _console()
    console.print(
        f"{record.kind} {record.id}: {record.status}, {_duration(record.duration_ms)}, "
        f"{record.engine}, bundle {record.bundle[:12]}",
        soft_wrap=True,
    )
    grid = _grid("view", "status", "rows", "digest", "version", "took", "jobs")
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
    console.print(grid)
    for view in record.views.values():
        console.print(f"{view.view}: {view.reason}", soft_wrap=True)
    pins = ", ".join(f"{name}@{version}" for name, version in sorted(record.pins.items()))
    console.print(f"pinned: {pins or 'nothing'}", soft_wrap=True)


def diff(
    first: RunName, second: RunName, project: ProjectFolder = ".", *, as_json: AsJson = False
) -> None:
    """Show what is different between two runs: versions, settings, code, results.

    [dim]headrace diff 20260301 latest shop[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    found = Project.load(project).diff(first, second)
    if as_json:
        _write_json(found)
        return
    console = _console()
    facts = Grid("what", found.first, found.second)
    for name, (then, now) in found.facts.items():
        facts.add_row(name, then, now)
    if found.facts:
        console.print(facts)
    views = Grid("view", "result", "rows", "why")
    for view in found.views:
        rows = " → ".join("?" if count is None else f"{count:,}" for count in view.rows)
        views.add_row(view.view, view.sameness.value, rows, "\n".join(map(str, view.causes)))
    console.print(views)


def vacuum(  # noqa: PLR0913  (one parameter an option)
    project: ProjectFolder = ".",
    *,
    keep_pins: Annotated[
        bool,
        typer.Option(
            "--keep-pins/--no-keep-pins", help="Keep every file that a kept run needs (default)."
        ),
    ] = True,
    keep_runs: Annotated[
        int | None, typer.Option("--keep-runs", min=0, help="Keep so many runs; by default all.")
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Vacuum the sources, too, not only outputs.")
    ] = False,
    retention_hours: Annotated[
        int | None,
        typer.Option("--retention-hours", min=0, help="By default as each table says, or a week."),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Remove the files; by default they are only named.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove files that nobody needs, and none that a kept run would need to be replayed.

    [dim]headrace vacuum shop --keep-pins --apply[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415

    loaded = Project.load(project)
    found = loaded.vacuum(
        keep_pins=keep_pins,
        keep_runs=keep_runs,
        with_sources=sources,
        retention_hours=retention_hours,
        dry_run=not apply,
    )
    if as_json:
        _write_json(found)
        return
    done = "removed" if apply else "would remove"
    console = _console()
    for table in found:
        kept = ", ".join(map(str, table.kept_versions)) or "none"
        console.print(f"{table.table}: {done} {len(table.files)} files (kept versions: {kept})")
        for file in table.files:
            console.print(f"  {file}", soft_wrap=True)


def _console() -> Console:
    return Console(highlight=False, markup=False)


def _write_json(value: Any) -> None:
    typer.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


def _grid(*names: str) -> Grid:
    """A table whose cells are never broken: ids are there to be copied."""
    grid = Grid()
    for name in names:
        grid.add_column(name, no_wrap=True)
    return grid


def _duration(duration_ms: int | None) -> str:
    return "" if duration_ms is None else f"{duration_ms / 1000:.1f} s"
