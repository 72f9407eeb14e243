"""Renders the panel that the page shows for a selected view or source.

A view with what its runs recorded, or the pin of a source, enters; HTML elements leave.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from headrace.pipeline.arrow_ddl import parse_schema, type_text
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.page.element import Child, element, table
from headrace.pipeline.page.lineage_panel import lineage_elements
from headrace.pipeline.page.sql_text import sql_element
from headrace.pipeline.page.story import RunLine, Story
from headrace.pipeline.project.header import Materialise
from headrace.pipeline.sources.source_pin import SourcePin


def view_panel(view: ViewPlan, story: Story, *, read_by: Sequence[str]) -> Element:
    """Return the panel of a view: status, SQL, columns, files and runs."""
    return element(
        "article",
        element(
            "header",
            element("h2", view.name),
            element("span", story.status, class_=f"pill {story.status.style_class}"),
            element("p", view.header.description, class_="description"),
            *([element("p", story.why, class_="why")] if story.why else []),
        ),
        *_next_run(story),
        _facts(_view_facts(view, read_by)),
        *_section("Columns", _columns(view)),
        *_section("Text", [] if view.sql is None else [sql_element(view.sql)]),
        *_section("Reads", [_files(view.units)] if view.units else []),
        *_section("Lineage", lineage_elements(view.lineage) if view.lineage else []),
        *_section("Notes", _notes(view, story)),
        *_section("Runs", _runs(story.runs_newest_first)),
    )


def source_panel(pin: SourcePin, *, read_by: Sequence[str]) -> Element:
    """Return the panel of a source: address, pinned version and columns."""
    columns = [
        element("tr", element("td", field.name), element("td", type_text(field.type)))
        for field in (parse_schema(pin.schema) if pin.schema else ())
    ]
    return element(
        "article",
        element(
            "header", element("h2", pin.source), element("span", "source", class_="pill source")
        ),
        _facts(
            [
                ("kind", [pin.kind]),
                ("address", [element("code", pin.uri)]),
                ("version", ["none" if pin.version is None else f"{pin.version} ({pin.origin})"]),
                ("committed", [] if pin.timestamp_ms is None else [_time(pin.timestamp_ms)]),
                ("partitioned by", [", ".join(pin.partition_columns)]),
                ("features", [", ".join(pin.features)]),
                ("read by", _links(read_by)),
            ]
        ),
        *_section("Columns", [table(("column", "type"), columns)] if columns else []),
    )


def _view_facts(view: ViewPlan, read_by: Sequence[str]) -> list[tuple[str, list[Child]]]:
    header = view.header
    is_output = header.materialise is Materialise.OUTPUT
    storage = f"{header.materialise}, {header.write}" if is_output else str(header.materialise)
    return [
        ("reads", _links(view.reads)),
        ("read by", _links(read_by)),
        ("kept as", [storage]),
        ("partitioned by", [", ".join(header.partition_by)]),
        ("keys", [", ".join(header.keys)]),
        (
            "a replay is",
            [f"{header.tier}{f' within {header.tolerance:g}' if header.tolerance else ''}"],
        ),
        ("variables", [", ".join(f":{n} = {v}" for n, v in view.arguments.items())]),
        ("functions", [", ".join(view.key.functions)]),
        ("file", [element("code", view.file)]),
        ("plan", [element("code", view.plan_fingerprint[:16])]),
        (
            "skip key",
            [element("code", view.skip_key[:16]) if view.skip_key else "none: it always runs"],
        ),
    ]


def _next_run(story: Story) -> list[Element]:
    if story.next_run is None:
        return []
    if not story.next_run:
        return [
            element(
                "p",
                "A run now would skip it: nothing that it depends on has changed.",
                class_="next",
            )
        ]
    causes = [element("li", cause) for cause in story.next_run]
    return [element("div", "A run now would compute it:", element("ul", *causes), class_="next")]


def _columns(view: ViewPlan) -> list[Element]:
    """Return the columns of the result, with their contract and lineage."""
    schema = view.arrow_schema
    if schema is None:
        return [element("p", "Known only after a run.", class_="quiet")]
    sources_of = {c.name: c.sources for c in view.lineage.columns} if view.lineage else {}
    contract = view.header.contract
    promised = {c.name.casefold(): c for c in contract.columns} if contract else {}
    rows = []
    for field in schema:
        promise = promised.get(field.name.casefold())
        text = "" if promise is None else promise.type + ("" if promise.nullable else " NOT NULL")
        rows.append(
            element(
                "tr",
                element("td", field.name),
                element("td", type_text(field.type)),
                *([element("td", text)] if contract else []),
                element("td", *_origins(sources_of.get(field.name, ())), class_="origins"),
            )
        )
    heads = ("column", "type", *(("promised",) if contract else ()), "made of")
    policy = (
        []
        if contract is None
        else [element("p", f"Contract: {contract.evolution}", class_="quiet")]
    )
    return [*policy, table(heads, rows)]


def _origins(sources: Iterable[str]) -> list[Child]:
    origins: list[Child] = []
    for source in sources:
        relation, _, column = source.partition(".")
        origins += [", "] if origins else []
        origins += [_link(relation), f".{column}"]
    return origins or ["a constant or a count"]


def _files(units: Sequence[ScanUnit]) -> Element:
    rows = [
        element(
            "tr",
            element("td", _link(unit.source), "" if unit.version is None else f" @ {unit.version}"),
            element("td", f"{unit.files_kept:,} of {unit.files_total:,}", class_="number"),
            element("td", _size(unit.bytes_kept), class_="number"),
            element("td", element("code", unit.where) if unit.where else "everything"),
        )
        for unit in units
    ]
    return table(("source", "files", "bytes", "where"), rows)


def _notes(view: ViewPlan, story: Story) -> list[Element]:
    fallback = f"Fallback: its latest run ran its SQL, not its stored plan: {story.fallback}"
    notes = [
        *([fallback] if story.fallback else []),
        *([f"Not planned by DataFusion: {view.unplanned}"] if view.unplanned else []),
        *([f"No files are pruned: {view.unpruned}"] if view.unpruned else []),
        *([f"On Spark only: {view.refused}"] if view.refused else []),
        *(f"{finding.code}: {finding.text}" for finding in view.findings),
        *(f"To be proven by the data: {violation}" for violation in view.unproved),
    ]
    items = [element("li", note) for note in notes]
    return [element("ul", *items, class_="notes")] if items else []


def _runs(runs: Sequence[RunLine]) -> list[Element]:
    rows = [
        element(
            "tr",
            element("td", element("code", run.run)),
            element("td", run.started),
            element("td", run.outcome, class_=f"outcome {run.outcome.style_class}"),
            element("td", run.took, class_="number"),
            element("td", run.rows, class_="number"),
            element("td", run.note),
        )
        for run in runs
    ]
    heads = ("run", "started", "outcome", "took", "rows", "why")
    return [table(heads, rows)] if rows else []


def _facts(facts: Iterable[tuple[str, list[Child]]]) -> Element:
    present = [(name, value) for name, value in facts if any(v != "" for v in value)]
    pairs = [part for n, v in present for part in (element("dt", n), element("dd", *v))]
    return element("dl", *pairs)


def _section(title: str, content: Sequence[Element]) -> list[Element]:
    return [element("section", element("h3", title), *content)] if content else []


def _links(names: Sequence[str]) -> list[Child]:
    links: list[Child] = []
    for name in names:
        links += [", "] if links else []
        links.append(_link(name))
    return links


def _link(name: str) -> Element:
    return element("a", name, href=f"#{name}")


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:  # noqa: PLR2004
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _time(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC).isoformat(timespec="seconds")
