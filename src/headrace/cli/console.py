"""Prints text for people and JSON for tools: one place decides about color, width and pipes."""

from collections.abc import Sequence
from typing import Any

import msgspec
import rich.console
import typer
from rich.cells import cell_len
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.tree import Tree

_BOUNDLESS = 100_000


class Console(rich.console.Console):
    """A console that lets the command handle a closed pipe, like all other output."""

    def on_broken_pipe(self) -> None:
        """Raise again, where Rich would exit with a failure."""
        raise  # noqa: PLE0704  (it is called while the error is handled)


def plain_console() -> Console:
    """Return a console that prints text literally, without wrapping."""
    return Console(highlight=False, markup=False, soft_wrap=True)


def make_grid(*names: str) -> Grid:
    """Return a table that truncates nothing and never wraps its first column."""
    grid = Grid()
    for number, name in enumerate(names):
        grid.add_column(name, overflow="fold", no_wrap=number == 0)
    return grid


def print_grid(grid: Grid) -> None:
    """Print a table as wide as the terminal, or as wide as needed without one."""
    console = plain_console()
    if not console.is_terminal:
        boundless = console.options.update(max_width=_BOUNDLESS)
        console.width = max(console.width, Measurement.get(console, boundless, grid).maximum)
    console.print(grid, soft_wrap=False)


def print_lines(lines: Sequence[Sequence[str]]) -> None:
    """Print one line per row, with aligned columns but the last one; nothing is cut or wrapped.

    A cell with characters that cannot be printed is shown as a JSON string.
    """
    shown = [[_printable(cell) for cell in line] for line in lines]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)][:-1]
    for *cells, last in shown:
        padded = (cell + " " * (w - cell_len(cell)) for cell, w in zip(cells, widths, strict=True))
        typer.echo("  ".join((*padded, last)).rstrip())


def _printable(text: str) -> str:
    return text if text.isprintable() else msgspec.json.encode(text).decode()


def print_tree(tree: Tree) -> None:
    """Print a tree without breaking lines."""
    console = plain_console()
    console.width = _BOUNDLESS
    console.print(tree)


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    typer.echo(msgspec.json.format(msgspec.json.encode(value)).decode())
