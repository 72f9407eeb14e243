"""Text for people, on a terminal or elsewhere; JSON for tools."""

from typing import Any

import msgspec
import rich.console
import typer
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.tree import Tree

_BOUNDLESS = 100_000


class Console(rich.console.Console):
    """A console that leaves a reader who went away to the command, as all other output does."""

    def on_broken_pipe(self) -> None:
        """Go on raising, where Rich would end the process as if something had failed."""
        raise  # noqa: PLE0704  (it is called while the error is handled)


def plain_console() -> Console:
    """A console that shows text as it is, and breaks no line of it."""
    return Console(highlight=False, markup=False, soft_wrap=True)


def make_grid(*names: str) -> Grid:
    """A table in which nothing is cut; what stands first, a name or an id, is not broken either."""
    grid = Grid()
    for number, name in enumerate(names):
        grid.add_column(name, overflow="fold", no_wrap=number == 0)
    return grid


def print_grid(grid: Grid) -> None:
    """Show a table: as wide as the terminal, or, where there is none, as wide as it has to be."""
    console = plain_console()
    if not console.is_terminal:
        boundless = console.options.update(max_width=_BOUNDLESS)
        console.width = max(console.width, Measurement.get(console, boundless, grid).maximum)
    console.print(grid, soft_wrap=False)


def print_tree(tree: Tree) -> None:
    """Show a tree with its lines whole, which a terminal wraps by itself."""
    console = plain_console()
    console.width = _BOUNDLESS
    console.print(tree)


def print_json(value: Any) -> None:
    """Write a value for tools, indented for people."""
    typer.echo(msgspec.json.format(msgspec.json.encode(value)).decode())
