"""Derives the lineage of a view that has no plan from its text alone.

Nothing is missing from it, but a listed column may turn out not to be needed.
"""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from headrace.pipeline.analysis.lineage import (
    AggregateLineage,
    ColumnLineage,
    ExpressionKind,
    ExpressionLineage,
    JoinLineage,
    Lineage,
    LineageOrigin,
    ScanLineage,
    WindowLineage,
)
from headrace.pipeline.analysis.resolver import Resolver

_LONGEST = 200


def text_lineage(resolver: Resolver, relations: Sequence[str]) -> Lineage | None:
    """Return the report on a query; None if not even its columns are known.

    Args:
        resolver: The resolved query.
        relations: The sources and views that it reads.
    """
    tree = resolver.tree
    if resolver.result.is_open and not resolver.result.fields:
        return None
    required = _by_relation(resolver.touched, relations)
    return Lineage(
        scans=tuple(
            ScanLineage(relation=name, columns=columns, filters=())
            for name, columns in required.items()
        ),
        joins=tuple(_joins(tree)),
        aggregates=tuple(_aggregates(tree)),
        windows=tuple(_windows(tree)),
        functions=tuple(sorted({call.name.casefold() for call in tree.find_all(exp.Anonymous)})),
        columns=tuple(
            ColumnLineage(name=field.name, sources=tuple(sorted(field.sources)))
            for field in resolver.result.fields
        ),
        rows=tuple(sorted(resolver.result.rows)),
        filters=tuple(
            _text(used.node) for used in resolver.used if used.kind is ExpressionKind.FILTER
        ),
        expressions=tuple(
            ExpressionLineage(
                kind=used.kind,
                text=_text(used.node),
                sources=tuple(sorted(used.sources)),
                functions=tuple(
                    sorted({call.name.casefold() for call in used.node.find_all(exp.Anonymous)})
                ),
            )
            for used in resolver.used
        ),
        required=required,
        origin=LineageOrigin.TEXT,
    )


def _by_relation(sources: set[str], relations: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Group `relation.column` names by relation; relation names may contain dots."""
    columns_by_relation: Mapping[str, list[str]] = {name: [] for name in sorted(relations)}
    for source in sorted(sources):
        holders = [name for name in columns_by_relation if source.startswith(f"{name}.")]
        if holders:
            holder = max(holders, key=len)
            columns_by_relation[holder].append(source.removeprefix(f"{holder}."))
    return {name: tuple(columns) for name, columns in columns_by_relation.items()}


def _joins(tree: exp.Expr) -> Iterator[JoinLineage]:
    for join in tree.find_all(exp.Join):
        words = [str(join.args.get(key) or "") for key in ("method", "side", "kind")]
        kind = " ".join(word.lower() for word in words if word) or "inner"
        using = tuple((part.name, part.name) for part in join.args.get("using") or ())
        condition = join.args.get("on")
        text = "" if condition is None else _text(condition)
        yield JoinLineage(kind=kind, keys=using, condition=text)


def _aggregates(tree: exp.Expr) -> Iterator[AggregateLineage]:
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None:
            keys = tuple(_text(key) for key in group.iter_expressions())
            measures = tuple(
                _text(column)
                for column in select.expressions
                if column.find(exp.Anonymous) is not None
            )
            yield AggregateLineage(keys=keys, measures=measures, types=())


def _windows(tree: exp.Expr) -> Iterator[WindowLineage]:
    named = {
        window.name.casefold(): window
        for select in tree.find_all(exp.Select)
        for window in select.args.get("windows") or ()
    }
    for window in tree.find_all(exp.Window):
        if not window.args.get("over"):
            continue
        alias = window.args.get("alias")
        over = window if alias is None else named.get(alias.name.casefold(), window)
        order = over.args.get("order")
        yield WindowLineage(
            function=_text(window.this),
            partition_by=tuple(_text(key) for key in over.args.get("partition_by") or ()),
            order_by=tuple(_text(key) for key in (order.expressions if order else ())),
        )


def _text(node: exp.Expr) -> str:
    text = " ".join(node.sql(dialect="spark", comments=False).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
