"""Renders a title and a few facts as an HTML table: what notebooks show of tables and scans."""

from collections.abc import Mapping
from html import escape


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """Render one fact per row; None is shown as null."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape('null' if value is None else str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"
