#!/usr/bin/env python3
"""Write docs/reference/functions.md from the standard functions of pipelines."""

import inspect
from itertools import groupby
from pathlib import Path

from headrace.pipeline.functions.catalog import Entry, standard_catalog

PAGE = Path(__file__).resolve().parent / "reference" / "functions.md"

HEAD = """\
# Standard functions

Every view can call these functions. They are implemented over Arrow arrays and return the same
values on Spark and on DataFusion. `headrace functions` lists them together with a project's own.
A null argument returns null unless stated otherwise. Optional arguments are in brackets, and dots
follow an argument that can be repeated; values are cast to the declared types.

[Functions of your own](../guide/functions.md) describes how to declare more. This page is written
by `docs/make_functions.py`.
"""


def render() -> str:
    """Return the page as Markdown: one section per module, one entry per function."""
    entries = sorted(standard_catalog(), key=_module)
    return HEAD + "".join(
        _section(module, list(group)) for module, group in groupby(entries, key=_module)
    )


def _module(entry: Entry) -> str:
    return entry.function.kernel.__module__


def _section(module: str, entries: list[Entry]) -> str:
    kernel = entries[0].function.kernel
    about = inspect.getdoc(inspect.getmodule(kernel)) or ""
    title = module.rpartition(".")[2].replace("_", " ").capitalize()
    return f"\n## {title}\n\n{about}\n" + "".join(map(_entry, entries))


def _entry(entry: Entry) -> str:
    function = entry.function
    description = inspect.getdoc(function.kernel) or ""
    return f"\n### `{function.name}`\n\n`{function.signature}`\n\n{description}\n"


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
