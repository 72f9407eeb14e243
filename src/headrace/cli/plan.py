"""`headrace plan`: shows what a run would compute and read, without reading data."""

from typing import Any

import typer

from headrace.cli.console import make_grid, plain_console, print_grid
from headrace.cli.option import AsJson, EngineName, Pin, ProjectFolder, Variable, parse_words


def plan(
    project: ProjectFolder = ".",
    *,
    pin: Pin = None,
    var: Variable = None,
    engine: EngineName = "spark",
    as_json: AsJson = False,
) -> None:
    """Plan the views of a project: order, files to read, findings, hashes.

    [dim]headrace plan shop --pin orders=12 --var first_day=2026-03-01[/]
    """
    from headrace.pipeline import Project  # noqa: PLC0415
    from headrace.pipeline.sources.source_pin import parse_pins  # noqa: PLC0415

    bundle = Project.load(project).plan(
        engine=engine, pins=parse_pins(pin or ()), variables=parse_words("--var", var)
    )
    if as_json:
        typer.echo(bundle.encode().decode())
    else:
        _render(bundle)


def _render(bundle: Any) -> None:
    views = make_grid("view", "rows go to", "reads", "files", "key", "findings")
    for name in bundle.order:
        view = bundle[name]
        reads = [name for name in view.reads if name in bundle.views]
        files = [f"{u.source} {u.files_kept}/{u.files_total}" for u in view.units]
        key = "runs every time" if view.skip_key is None else view.skip_key[:12]
        findings = [f"{finding.code}: {finding.text}" for finding in view.findings]
        if view.unplanned or view.unpruned:
            findings.append(f"not pruned: {view.unplanned or view.unpruned}")
        if view.refused:
            findings.append(f"on Spark only: {view.refused}")
        views.add_row(
            name,
            view.header.materialise.value,
            "\n".join(reads),
            "\n".join(files),
            key,
            "\n".join(findings),
        )
    print_grid(views)
    sources = make_grid("source", "kind", "version", "pinned by", "address")
    for name, pin in sorted(bundle.pins.items()):
        version = "" if pin.version is None else str(pin.version)
        sources.add_row(name, pin.kind, version, pin.origin.value, pin.uri)
    print_grid(sources)
    plain_console().print(f"bundle {bundle.id[:12]} for {bundle.engine}, {len(bundle.order)} views")
