"""What the page tells of a view's lineage, besides where each column comes from."""

from xml.etree.ElementTree import Element

from headrace.pipeline.analysis.lineage import Lineage, LineageOrigin
from headrace.pipeline.page.element import Child, element, table

_MOST = 60
"""Beyond so many expressions a table helps nobody; `headrace lineage --json` has them all."""


def lineage_elements(lineage: Lineage) -> list[Element]:
    """What decides the rows, what is computed, and which columns each relation must have."""
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
        for expression in lineage.expressions[:_MOST]
    ]
    by_text = "Read from the text: there is no plan, so that more may be listed than is needed."
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
