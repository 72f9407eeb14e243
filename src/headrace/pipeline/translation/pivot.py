"""Rewrites PIVOT and UNPIVOT into the equivalent aggregates and unions.

A syntax tree enters and a syntax tree leaves; it is then compiled like any other query.
"""

from collections.abc import Sequence

from sqlglot import exp

from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Output


def rewritten(pivot: exp.Expr, source: exp.Expr, outputs: Sequence[Output]) -> exp.Expr:
    """Return the query equivalent to a PIVOT or UNPIVOT of a relation with these columns.

    Raises:
        Refused: it pivots by several columns, or by something other than literals.
    """
    fields = pivot.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In):
        raise unsupported(pivot, "it pivots by more than one column")
    if pivot.args.get("unpivot"):
        return _unpivoted(pivot, fields[0], source, outputs)
    return _pivoted(pivot, fields[0], source, outputs)


def _pivoted(
    pivot: exp.Expr, field: exp.In, source: exp.Expr, outputs: Sequence[Output]
) -> exp.Expr:
    """Group by the columns that PIVOT does not name, with an aggregate for each value."""
    by = field.this
    if not isinstance(by, exp.Column):
        raise unsupported(pivot, "it pivots by more than one column")
    aggregates = pivot.expressions
    named = {
        column.name.casefold() for part in (by, *aggregates) for column in part.find_all(exp.Column)
    }
    keys = [exp.column(o.name, quoted=True) for o in outputs if o.name.casefold() not in named]
    items: list[exp.Expr] = [key.copy() for key in keys]
    for option in field.expressions:
        value = option.this if isinstance(option, exp.PivotAlias) else option
        if not isinstance(value, exp.Literal):
            raise unsupported(pivot, "the values are not literals")
        label = option.args["alias"].name if isinstance(option, exp.PivotAlias) else value.name
        matches = exp.EQ(this=by.copy(), expression=value.copy())
        for aggregate in aggregates:
            name = label if len(aggregates) == 1 else f"{label}_{_label(aggregate)}"
            items.append(exp.alias_(_where(aggregate.unalias(), matches), name, quoted=True))
    select = exp.select(*items).from_(source)
    return select.group_by(*keys) if keys else select


def _label(aggregate: exp.Expr) -> str:
    if not isinstance(aggregate, exp.Alias):
        raise unsupported(aggregate, "one of several aggregates has no alias")
    return aggregate.alias


def _where(aggregate: exp.Expr, matches: exp.Expr) -> exp.Expr:
    """Aggregate the rows that match: null if there are none, also for a count."""
    if not isinstance(aggregate, exp.Anonymous):
        raise unsupported(aggregate, "it is not a plain aggregate")
    matching_count = exp.Anonymous(this="count_if", expressions=[matches.copy()])
    filtered = exp.Filter(this=aggregate.copy(), expression=exp.Where(this=matches.copy()))
    test = exp.GT(this=matching_count, expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=test, true=filtered)])


def _unpivoted(
    pivot: exp.Expr, field: exp.In, source: exp.Expr, outputs: Sequence[Output]
) -> exp.Expr:
    """Return a union with one query for each column that becomes rows."""
    values = pivot.expressions
    if len(values) != 1 or not isinstance(values[0], exp.Identifier):
        raise unsupported(pivot, "it produces more than one column of values")
    columns = [o.this if isinstance(o, exp.PivotAlias) else o for o in field.expressions]
    if not all(isinstance(column, exp.Column) and len(column.parts) == 1 for column in columns):
        raise unsupported(pivot, "it names something other than columns")
    names = {output.name.casefold() for output in outputs}
    for column in columns:
        if column.name.casefold() not in names:
            raise wrong(column, "there is no such column")
    names_in_use = {column.name.casefold() for column in columns}
    keys = [
        exp.column(o.name, quoted=True) for o in outputs if o.name.casefold() not in names_in_use
    ]
    parts: list[exp.Expr] = []
    for option, column in zip(field.expressions, columns, strict=True):
        label = option.args["alias"].name if isinstance(option, exp.PivotAlias) else column.name
        row = exp.select(
            *(key.copy() for key in keys),
            exp.alias_(exp.Literal.string(label), field.this.name, quoted=True),
            exp.alias_(column.copy(), values[0].name, quoted=True),
        ).from_(source.copy())
        if not pivot.args.get("include_nulls"):
            row = row.where(exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())))
        parts.append(row)
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.Union(this=whole, expression=part, distinct=False)
    return whole
