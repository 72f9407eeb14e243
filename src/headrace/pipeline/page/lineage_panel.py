"""Renders the lineage section of a view's panel.

The lineage of a view enters; elements leave that list what decides its rows and how each column
is computed.
"""

from xml.etree.ElementTree import Element

from headrace.pipeline.analysis.lineage import Lineage, LineageOrigin
from headrace.pipeline.page.element import Child, element, table

_MAX_EXPRESSIONS = 60
"""A longer table is not readable; `headrace lineage --json` has all expressions."""


def lineage_elements(lineage: Lineage) -> list[Element]:
    """Return what decides the rows, what is computed, and the columns that each relation needs."""
    facts = [
        ("needs", [f"{name}: {', '.join(columns)}" for name, columns in lineage.required.items()]),
        ("rows are decided by", [", ".join(lineage.rows)] if lineage.rows else []),
        ("filters after the scans", list(lineage.filters)),
        (
            "windows",
            [
                f"{window.function} partitioned by {', '.join(window.partition_by) or 'nothing'}, "
                f"ordered by {', '.join(window.order_by) or 'nothing'}"
                for window in lineage.windows
            ],
        ),
    ]
    pairs = [
        part
        for name, values in facts
        if values
        for part in (element("dt", name), element("dd", *_lines(values)))
    ]
    rows = [
        element(
            "tr",
            element("td", expression.kind.value),
            element("td", element("code", expression.text)),
            element("td", ", ".join(expression.sources)),
        )
        for expression in lineage.expressions[:_MAX_EXPRESSIONS]
    ]
    by_text = "Derived from the SQL, since there is no plan; it may list more than is needed."
    return [
        *([element("p", by_text, class_="quiet")] if lineage.origin is LineageOrigin.TEXT else []),
        *([element("dl", *pairs)] if pairs else []),
        *([table(("for", "expression", "made of"), rows)] if rows else []),
    ]


def _lines(values: list[str]) -> list[Child]:
    lines: list[Child] = []
    for value in values:
        lines += [element("br")] if lines else []
        lines.append(value)
    return lines
