"""Views as their authors wrote them: a query in Spark SQL, or a function over a session.

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
"""Takes a Spark session, in which the sources and upstream views are there as tables, and gives
a DataFrame."""

_READERS = frozenset({"table", "read_table"})


class SqlView(msgspec.Struct, frozen=True, kw_only=True):
    """A view whose text is Spark SQL; Spark runs it as it stands."""

    name: str
    file: str
    sql: str
    header: Header


class BuilderView(msgspec.Struct, frozen=True, kw_only=True):
    """A view that a Python function builds, for what SQL cannot say."""

    name: str
    file: str
    build: Builder
    header: Header
    reads: tuple[str, ...]
    """What it reads by its own account; Spark's analysed plan knows it exactly."""
    part: FunctionPart | None = None
    """What its code is made of, as it was loaded."""


View: TypeAlias = SqlView | BuilderView


class _Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What `@view` leaves on a function, for the project to find."""

    header: Header
    reads: tuple[str, ...]


_MARK = "__headrace_view__"


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
    """Declare a function of `views/*.py` to be the view of its name.

    Args:
        description: What the view is; by default the function's docstring.
        materialise: What becomes of its rows; so for the keys of an SQL view's header.
        write: How an output takes new rows.
        append: Which rows an output that is appended to takes: `all`.
        partition_by: The columns that an output is partitioned by.
        keys: The columns that identify a row.
        change_feed: Whether the output keeps a change data feed.
        tier: How equal a replay must be.
        tolerance: How far a number may be off under BEST_EFFORT.
        contract: The columns that it promises.
        reads: The sources and views that it reads; by default those that its text names in
            `spark.table("...")`.

    Raises:
        ValueError: a word is none of those that the key takes.
    """

    def mark(build: Builder) -> Builder:
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
        named = tables_named(build) if reads is None else tuple(reads)
        setattr(build, _MARK, _Declared(header=header, reads=named))
        return build

    return mark


def declared_views(names: dict[str, Any], *, file: str) -> list[BuilderView]:
    """The views that a module declares, by name."""
    found = []
    for name, value in sorted(names.items()):
        declared = getattr(value, _MARK, None)
        if isinstance(declared, _Declared):
            found.append(
                BuilderView(
                    name=name,
                    file=file,
                    build=value,
                    header=declared.header,
                    reads=declared.reads,
                )
            )
    return found


def tables_named(build: Builder) -> tuple[str, ...]:
    """The tables that a function's text names literally, in `spark.table("...")`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(build)))
    named = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _READERS
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }
    return tuple(sorted(named))
