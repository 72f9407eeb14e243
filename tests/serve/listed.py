"""Compare the file lists of clients in other languages with the library, on all real tables."""

from pathlib import Path

import pytest

import headrace
from headrace.errors import HeadraceError
from tests.conformance.fixture import Fixture, fixture_params

Listing = dict[str, list[str]]


def small_tables() -> list[Fixture]:
    """Return the conformance tables, except those with very many files."""
    params = fixture_params()
    if any(parameter.marks for parameter in params):
        pytest.skip("HEADRACE_TABLES is not set")
    return [p.values[0] for p in params if not p.values[0].is_large]


def parse_listing(text: str) -> Listing:
    """Return the lines of each table, sorted; a refusal is a single line."""
    listing: Listing = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "table":
            listing[rest] = []
        else:
            listing[next(reversed(listing))].append(line)
    # The lines before a refusal depend on how far ahead the reader was.
    refused = ([line for line in lines if line.startswith("refused")] for lines in listing.values())
    return {
        name: why or sorted(lines)
        for (name, lines), why in zip(listing.items(), refused, strict=True)
    }


def expected_listing(table: Path) -> list[str]:
    """Return the expected lines, from the library."""
    try:
        batches = headrace.Table(table).snapshot().scan().batches(columns=["uri", "size_bytes"])
        rows = [row for batch in batches for row in batch.to_pylist()]
    except HeadraceError as error:
        return [f"refused {error.code}"]
    return sorted(f"{row['size_bytes']}\t{row['uri']}" for row in rows)
