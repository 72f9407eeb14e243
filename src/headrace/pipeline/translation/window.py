"""Translates aggregates, window functions, frames and ORDER BY keys.

A call with its OVER, FILTER and WITHIN GROUP clauses enters; a typed DataFusion expression leaves.
"""

from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES, RANKS
from headrace.pipeline.translation.catalogue.over import Over
from headrace.pipeline.translation.compiler import Compiler, or_refuse
from headrace.pipeline.translation.eager import with_aggregates
from headrace.pipeline.translation.kernel import kernels_in, row_ordered
from headrace.pipeline.translation.literal import is_number_literal
from headrace.pipeline.translation.operator import ordered
from headrace.pipeline.translation.project_call import project_function
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Scope
from headrace.pipeline.translation.typed import Typed, present, sql_cast

_RANKS_BY_ORDER = frozenset({"rank", "dense_rank", "percent_rank"})
"""Spark allows them to have arguments, but uses the keys of the window instead."""


_NEVER_NULL = frozenset(
    {"count", "count_if", "collect_list", "collect_set", "array_agg", "bitmap_construct_agg"}
    | {"bitmap_or_agg", "regr_count"}
)
"""Aggregates that return a value for every group."""


def aggregate(compiler: Compiler, node: exp.Anonymous, scope: Scope, over: Over) -> Typed:
    """Compile an aggregate, over a group or over a window."""
    entry = AGGREGATES[node.name.casefold()]
    arguments = list(node.expressions)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        over = msgspec.structs.replace(over, distinct=True)
        arguments = list(arguments[0].expressions)
    if not arguments and node.name.casefold() == "count":
        raise wrong(node, "it takes at least one argument")
    if [type(argument) for argument in arguments] == [exp.Star]:
        if over.distinct:
            raise unsupported(node, "the catalogue has no DISTINCT of all columns")
        arguments = []
    _refuse_aliases(arguments, scope)
    plain = scope.before_grouping()
    values = [compiler.value(argument, plain) for argument in arguments]
    scope.is_correlated |= plain.is_correlated
    if over.distinct and over.window is not None:
        raise unsupported(node, "the catalogue has no DISTINCT over a window")
    if over.order is not None and not entry.is_ordered:
        raise unsupported(node, "it does not take WITHIN GROUP")
    if not entry.least <= len(values) <= entry.most:
        raise wrong(node, f"it does not take {len(values)} arguments")
    if any(part.find(exp.Column) is not None for part in arguments[entry.columns :]):
        raise unsupported(node, "an argument that must be constant refers to a column")
    over = msgspec.structs.replace(over, in_groups=scope.has_groups)
    expression = or_refuse(entry.build(compiler.casts, over, values), node, *values)
    if row_ordered(kernels_in(expression.text)) and _has_distinct_aggregate(node):
        raise unsupported(node, "next to an aggregate with DISTINCT, Spark reads rows in any order")
    scope.aggregates.append(expression)
    return present(expression) if entry.name in _NEVER_NULL else expression


def _refuse_aliases(arguments: Sequence[exp.Expr], scope: Scope) -> None:
    """Refuse aliases in the arguments of an aggregate: Spark has only columns there."""
    for column in (part for argument in arguments for part in argument.find_all(exp.Column)):
        name = column.name.casefold()
        alias = scope.aliases.get(name) if len(column.parts) == 1 else None
        same = [c.value.text for c in scope.columns if c.name == name]
        if alias is not None and alias.text not in same and (scope.prefers_aliases or not same):
            raise unsupported(column, "the catalogue has no alias in an aggregate")


def _has_distinct_aggregate(node: exp.Expr) -> bool:
    """Return whether the SELECT has a DISTINCT aggregate: Spark then groups by its values too."""
    query = node.find_ancestor(exp.Select)
    calls = () if query is None else query.find_all(exp.Anonymous)
    return any(isinstance(part, exp.Distinct) for call in calls for part in call.expressions)


def window(compiler: Compiler, node: exp.Expr, scope: Scope, *, any_order: bool = False) -> Typed:
    """Compile a function with its OVER, FILTER or WITHIN GROUP."""
    inner, over = node, Over(any_order=any_order)
    if isinstance(node, exp.Window):
        inner = node.this
        if isinstance(node.find_ancestor(exp.Order, exp.Query, exp.Window), exp.Order):
            raise unsupported(node, "Spark has no window functions in ORDER BY")
        over = Over(window=_frame(compiler, node, scope))
        _check_frame(node, inner, compiler)
    if isinstance(inner, exp.Filter):
        plain = scope.before_grouping()
        condition = compiler.boolean(inner.expression.this, plain)
        scope.is_correlated |= plain.is_correlated
        over = msgspec.structs.replace(over, condition=condition.text)
        inner = inner.this
    if isinstance(inner, exp.WithinGroup):
        over = msgspec.structs.replace(over, order=_within_group(compiler, inner, scope))
        inner = inner.this
    if not isinstance(inner, exp.Anonymous):
        raise unsupported(node, "the catalogue has no such window function")
    name = inner.name.casefold()
    if name in AGGREGATES:
        return aggregate(compiler, inner, scope, over)
    if name in compiler.functions:
        return project_function(compiler, inner, scope, over)
    if over.window is None or over.condition is not None:
        raise unsupported(node, "the catalogue has no such aggregate")
    values = [compiler.value(argument, scope) for argument in inner.expressions]
    return _positional(compiler, inner, values, over.window, node=node)


_RUNNING = frozenset({"row_number", "rank", "dense_rank", "percent_rank"})
_TO_CURRENT_ROW = (["ROWS", "UNBOUNDED", "CURRENT ROW"], ["ROWS", "UNBOUNDED", ""])
"""The frames that Spark accepts for functions that count rows: they are the default."""


def _check_frame(node: exp.Window, function: exp.Expr, compiler: Compiler) -> None:
    """Refuse a frame of a function that Spark only has over the whole window."""
    name = function.name.casefold() if isinstance(function, exp.Anonymous) else ""
    alias = node.args.get("alias")
    frame = node if alias is None else compiler.windows[alias.name.casefold()]
    spec = frame.args.get("spec")
    if spec is None or name not in {*RANKS, "ntile", "lag", "lead"}:
        return
    bounds = [str(spec.args.get(key) or "").upper() for key in ("kind", "start", "end")]
    if name not in _RUNNING or bounds not in _TO_CURRENT_ROW:
        raise wrong(node, "Spark has this function only without a frame")


def _within_group(compiler: Compiler, node: exp.WithinGroup, scope: Scope) -> tuple[Typed, bool]:
    """Return the single key of WITHIN GROUP (ORDER BY), and whether it is descending."""
    keys = node.expression.expressions
    if len(keys) != 1:
        raise unsupported(node, "the catalogue has WITHIN GROUP only with one key")
    key = keys[0]
    plain = scope.before_grouping()
    value = compiler.value(key.this if isinstance(key, exp.Ordered) else key, plain)
    return value, isinstance(key, exp.Ordered) and bool(key.args.get("desc"))


def _positional(
    compiler: Compiler,
    function: exp.Anonymous,
    values: Sequence[Typed],
    window: str,
    *,
    node: exp.Expr,
) -> Typed:
    """Compile a function of the position of a row in its window."""
    name = function.name.casefold()
    if "ORDER BY" not in window:
        raise unsupported(node, "without ORDER BY the rows have no order")
    if name in RANKS and (not values or name in _RANKS_BY_ORDER):
        return Typed(sql_cast(f"{name}() OVER ({window})", RANKS[name]), RANKS[name])
    is_tile = name == "ntile" and len(values) == 1 and t.is_integer(values[0].type)
    if is_tile and values[0].is_literal and values[0].value > 0:
        text = f"ntile({sql_cast(str(values[0].value), t.LONG)}) OVER ({window})"
        return Typed(sql_cast(text, t.INT), t.INT)
    if name in {"lag", "lead"} and values and all(v.is_literal for v in values[1:]):
        return _neighbour(compiler, node, name, window, values)
    if name == "nth_value" and len(values) == 2:  # noqa: PLR2004
        return _nth(values, window, node)
    if name in {"first_value", "first", "last_value", "last"} and len(values) == 1:
        word = "first_value" if name.startswith("first") else "last_value"
        return Typed(f"{word}({values[0].text}) OVER ({window})", values[0].type)
    raise unsupported(node, "the catalogue has no such window function")


def _nth(values: Sequence[Typed], window: str, node: exp.Expr) -> Typed:
    """Compile `nth_value`, which is null if the frame has too few rows."""
    value, place = values
    if not (place.is_literal and t.is_integer(place.type) and (place.value or 0) > 0):
        raise unsupported(node, "the catalogue has nth_value only with a literal position")
    return Typed(f"nth_value({value.text}, {place.value}) OVER ({window})", value.type)


def _neighbour(
    compiler: Compiler, node: exp.Expr, name: str, window: str, values: Sequence[Typed]
) -> Typed:
    """Compile `lag` and `lead`."""
    value, *more = values
    offset = more[0].value if more else 1
    if pa.types.is_nested(value.type) or not isinstance(offset, int) or offset < 0:
        raise unsupported(node, "the catalogue has it only for plain types and offsets")
    last = ""
    if len(more) > 1:
        default = compiler.casts.cast(more[1], value.type)
        if default is None or not default.is_literal:
            raise unsupported(node, "the default has another type")
        last = f", {default.text}"
    return Typed(f"{name}({value.text}, {offset}{last}) OVER ({window})", value.type)


def _frame(compiler: Compiler, node: exp.Window, scope: Scope) -> str:
    """Compile the text inside the parentheses of OVER."""
    if node.args.get("alias") is not None:
        named = compiler.windows.get(node.args["alias"].name.casefold())
        if named is None:
            raise wrong(node, "there is no such window")
        if any(node.args.get(key) for key in ("partition_by", "order", "spec")):
            raise unsupported(node, "the catalogue has no named window with further clauses")
        node = named  # type: ignore[assignment]
    parts = []
    keys = [ordered(compiler.value(key, scope)) for key in node.args.get("partition_by") or ()]
    for key in keys:
        if not t.is_orderable(key.type):
            raise unsupported(node, "the catalogue has no PARTITION BY a nested type")
    if keys:
        parts.append("PARTITION BY " + ", ".join(key.text for key in keys))
    order = node.args.get("order")
    if order is not None:
        parts.append(
            "ORDER BY " + ", ".join(sort_key(compiler, k, scope) for k in order.expressions)
        )
    spec = node.args.get("spec")
    if spec is not None:
        parts.append(_frame_text(spec, node))
    return " ".join(parts)


def _frame_text(spec: exp.Expr, node: exp.Expr) -> str:
    kind = str(spec.args.get("kind")).upper()
    bounds = []
    for side in ("start", "end"):
        value = spec.args.get(side)
        place = str(spec.args.get(f"{side}_side") or "")
        if value is None:
            value, place = "CURRENT ROW", ""
        if isinstance(value, exp.Expr):
            if kind != "ROWS" or not is_number_literal(value):
                raise unsupported(node, "the catalogue has only frames of a literal number of rows")
            value = value.name
        bounds.append(f"{value} {place}".strip())
    return f"{kind} BETWEEN {bounds[0]} AND {bounds[1]}"


def sort_key(
    compiler: Compiler, node: exp.Expr, scope: Scope, shown: Callable[[Typed], str] | None = None
) -> str:
    """Compile an ORDER BY key, with the position of nulls written out."""
    plain = compiler.value(node.this if isinstance(node, exp.Ordered) else node, scope)
    value = with_aggregates(plain, scope)
    if not t.is_orderable(value.type):
        raise unsupported(node, f"the catalogue has no ORDER BY {type_text(value.type)}")
    down = isinstance(node, exp.Ordered) and bool(node.args.get("desc"))
    first = not down
    if isinstance(node, exp.Ordered):
        written = node.args.get("nulls_first")
        first = bool(written) if written is not None else first
    text = ordered(value).text
    if shown is not None and text == value.text:
        text = shown(value)
    return f"{text} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
