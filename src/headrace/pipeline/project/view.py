"""Views as written: a query in Spark SQL, or a Python function that builds a DataFrame.

@view(materialise="output", reads=("orders",))
def revenue(spark):
    return spark.table("orders").groupBy("customer").sum("amount")
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from headrace.pipeline.contract import Contract
from headrace.pipeline.functions.fingerprint import FunctionPart
from headrace.pipeline.project.header import AppendMode, Header, Materialise, Tier, WriteMode

Builder: TypeAlias = Callable[[Any], Any]
"""Takes a Spark session that has the sources and upstream views as tables; returns a DataFrame."""

_READERS = frozenset({"table", "read_table"})


class SqlView(msgspec.Struct, frozen=True, kw_only=True):
    """A view in Spark SQL, which Spark runs unchanged."""

    name: str
    file: str
    sql: str
    header: Header


class BuilderView(msgspec.Struct, frozen=True, kw_only=True):
    """A view that a Python function builds, for what SQL cannot express."""

    name: str
    file: str
    build: Builder
    header: Header
    reads: tuple[str, ...]
    """The relations that it declares to read; Spark's analysed plan has the exact ones."""
    part: FunctionPart | None = None
    """The fingerprint of its code, as it was loaded."""


View: TypeAlias = SqlView | BuilderView


class _Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The attribute that `@view` sets on a function."""

    header: Header
    reads: tuple[str, ...]


_DECLARATION = "__headrace_view__"


def view(  # noqa: PLR0913  (one parameter a key of the header)
    *,
    description: str = "",
    materialise: Materialise | str = Materialise.NONE,
    write: WriteMode | str = WriteMode.OVERWRITE,
    append: AppendMode | str | None = None,
    partition_by: Sequence[str] = (),
    keys: Sequence[str] = (),
    change_feed: bool = False,
    tier: Tier | str = Tier.STABLE_SET,
    tolerance: float = 0.0,
    contract: Contract | None = None,
    reads: Sequence[str] | None = None,
) -> Callable[[Builder], Builder]:
    """Declare a function in `views/*.py` as a view with the function's name.

    Args:
        description: A description; by default the function's docstring.
        materialise: How its rows are kept. This and the next arguments are the keys of an SQL
            view's header.
        write: How new rows are written to an output table.
        append: Which rows `append` appends: `all`.
        partition_by: The columns that an output is partitioned by.
        keys: The columns that identify a row.
        change_feed: Whether the output keeps a change data feed.
        tier: How strictly a replay compares rows.
        tolerance: The relative tolerance under BEST_EFFORT.
        contract: The columns that the view promises.
        reads: The sources and views that it reads; by default the literal names in its
            `spark.table("...")` calls.

    Raises:
        ValueError: an argument has an unknown value.
    """

    def declare(build: Builder) -> Builder:
        header = Header(
            description=description or inspect.getdoc(build) or "",
            materialise=Materialise(materialise),
            write=WriteMode(write),
            append=None if append is None else AppendMode(append),
            partition_by=tuple(partition_by),
            keys=tuple(keys),
            change_feed=change_feed,
            tier=Tier(tier),
            tolerance=tolerance,
            contract=contract,
        )
        relations = named_tables(build) if reads is None else tuple(reads)
        setattr(build, _DECLARATION, _Declared(header=header, reads=relations))
        return build

    return declare


def declared_views(names: dict[str, Any], *, file: str) -> list[BuilderView]:
    """Return the views that a module declares, sorted by name."""
    views = []
    for name, value in sorted(names.items()):
        declared = getattr(value, _DECLARATION, None)
        if isinstance(declared, _Declared):
            views.append(
                BuilderView(
                    name=name,
                    file=file,
                    build=value,
                    header=declared.header,
                    reads=declared.reads,
                )
            )
    return views


def named_tables(build: Builder) -> tuple[str, ...]:
    """Return the literal table names in a function's `spark.table("...")` calls."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(build)))
    names = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _READERS
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }
    return tuple(sorted(names))
