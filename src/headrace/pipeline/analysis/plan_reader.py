"""Reads a Substrait plan, operator by operator, from its scans to its result.

The plan contains every scan, including those of subqueries, with the columns it needs and the
filters that were pushed down to it. Scans and lineage leave.
"""

from collections.abc import Sequence

from substrait.algebra_pb2 import (
    AggregateRel,
    CrossRel,
    Expression,
    FetchRel,
    FilterRel,
    JoinRel,
    ProjectRel,
    ReadRel,
    Rel,
    SetRel,
)
from substrait.plan_pb2 import Plan

from headrace.pipeline.analysis.flow import Column, Rows, Scan, kind_of, onto_scan, type_of
from headrace.pipeline.analysis.lineage import (
    AggregateLineage,
    ColumnLineage,
    ExpressionKind,
    ExpressionLineage,
    JoinLineage,
    Lineage,
    ScanLineage,
    WindowLineage,
)
from headrace.pipeline.analysis.plan_expression import (
    ExpressionReader,
    children,
    field_index,
    subplans,
)
from headrace.pipeline.analysis.substrait import column_names
from headrace.pipeline.functions.definition import plain_name
from headrace.pipeline.translation.table_call import shown_relation


class PlanReader:
    """Walks one plan, once."""

    def __init__(self, plan: Plan) -> None:
        """Read a canonical plan."""
        declared = [extension.extension_function for extension in plan.extensions]
        self.expressions = ExpressionReader(
            {f.function_anchor: plain_name(f.name) for f in declared}
        )
        self.scans: list[Scan] = []
        self._joins: list[JoinLineage] = []
        self._aggregates: list[AggregateLineage] = []
        self._windows: list[WindowLineage] = []
        self._expression_lineage: list[ExpressionLineage] = []
        self._filters: list[str] = []
        self._row_sources: set[str] = set()
        self._order_sources: frozenset[str] = frozenset()
        root = plan.relations[0].root
        rows = self._rel(root.input)
        self._need(rows.columns)
        # Nested names follow each column's own name; only the columns' own names count.
        self.names = tuple(root.names)
        self.columns = rows.columns

    def lineage(self, names: Sequence[str]) -> Lineage:
        """Return the lineage report, with the result's columns under the author's names."""
        scans = tuple(self._scan_lineage(scan) for scan in self.scans)
        required: dict[str, set[str]] = {}
        for scan in scans:
            required.setdefault(scan.relation, set()).update(scan.columns)
        return Lineage(
            scans=scans,
            joins=tuple(self._joins),
            aggregates=tuple(self._aggregates),
            windows=tuple(self._windows),
            functions=tuple(sorted(set(self.expressions.functions.values()))),
            columns=tuple(
                ColumnLineage(name=name, sources=tuple(sorted(column.sources)))
                for name, column in zip(names, self.columns, strict=True)
            ),
            rows=tuple(sorted(self._row_sources)),
            filters=tuple(dict.fromkeys(self._filters)),
            expressions=tuple(self._expression_lineage),
            required={name: tuple(sorted(columns)) for name, columns in sorted(required.items())},
        )

    def _scan_lineage(self, scan: Scan) -> ScanLineage:
        filters = {self.expressions.text(condition, scan.names) for condition in scan.conditions}
        return ScanLineage(
            relation=shown_relation(scan.relation),
            columns=tuple(sorted(scan.names[place] for place in scan.needed)),
            filters=tuple(sorted(filters)),
        )

    def _rel(self, rel: Rel) -> Rows:  # noqa: C901  (one case an operator)
        """Read an operator and its inputs, and return its output."""
        kind = rel.WhichOneof("rel_type")
        node = getattr(rel, kind)
        match kind:
            case "read":
                rows = self._read(node)
            case "filter":
                rows = self._filter(node)
            case "project":
                rows = self._project(node)
            case "aggregate":
                rows = self._aggregate(node)
            case "join":
                rows = self._join(node)
            case "cross":
                rows = self._cross(node)
            case "set":
                rows = self._set(node)
            case "sort":
                rows = self._rel(node.input)
                for sort in node.sorts:
                    used = self._use([sort.expr], rows)
                    names = [column.name for column in rows.columns]
                    (key,) = self.expressions.order([sort], names)
                    self._record(ExpressionKind.ORDER, sort.expr, rows, used, text=key)
                    self._order_sources |= used
            case "fetch":
                rows = self._fetch(node)
            case _:
                raise NotImplementedError(f"the operator {kind} of Substrait")
        if node.common.HasField("emit"):
            emitted = tuple(rows.columns[place] for place in node.common.emit.output_mapping)
            rows = Rows(emitted, rows.scan)
        return rows

    def _read(self, node: ReadRel) -> Rows:
        if not node.HasField("named_table"):
            width = len(node.base_schema.struct.types)
            return Rows(tuple(Column(f"column{place}", frozenset()) for place in range(width)))
        number, relation = len(self.scans), node.named_table.names[-1]
        shown = shown_relation(relation)
        names = tuple(nested[0] for nested in column_names(node.base_schema))
        scan = Scan(relation, names, tuple(node.base_schema.struct.types))
        self.scans.append(scan)
        columns = tuple(
            Column(
                name, frozenset({f"{shown}.{name}"}), kind_of(scan.types[place]), (number, place)
            )
            for place, name in enumerate(names)
        )
        rows = Rows(columns, number)
        for name in ("filter", "best_effort_filter"):
            if node.HasField(name):
                self._restrict(getattr(node, name), rows)
        if node.HasField("projection"):
            places = [item.field for item in node.projection.select.struct_items]
            rows = Rows(tuple(columns[place] for place in places), number)
        return rows

    def _filter(self, node: FilterRel) -> Rows:
        rows = self._rel(node.input)
        self._restrict(node.condition, rows)
        return rows

    def _restrict(self, condition: Expression, rows: Rows) -> None:
        """Push a condition down to the scan, if the rows still belong to one scan."""
        names = [column.name for column in rows.columns]
        used = self._use([condition], rows)
        self._row_sources |= used
        self._record(ExpressionKind.FILTER, condition, rows, used)
        for part in self.expressions.conjuncts(condition):
            moved = None if rows.scan is None else onto_scan(part, rows.columns)
            if moved is None or rows.scan is None:
                self._filters.append(self.expressions.text(part, names))
            else:
                self.scans[rows.scan].conditions.append(moved)

    def _fetch(self, node: FetchRel) -> Rows:
        """Read a limit: the columns of the order decide which rows it keeps."""
        self._order_sources = frozenset()
        rows = self._rel(node.input)
        self._row_sources |= self._order_sources
        return Rows(rows.columns)

    def _record(
        self,
        kind: ExpressionKind,
        expression: Expression,
        rows: Rows,
        sources: frozenset[str],
        *,
        text: str | None = None,
    ) -> None:
        """Add an expression to the report, as the text given or as that of the expression."""
        functions: set[str] = set()
        waiting = [expression]
        while waiting:
            part = waiting.pop()
            functions.add(self.expressions.called(part))
            waiting += children(part)
        self._expression_lineage.append(
            ExpressionLineage(
                kind=kind,
                text=text
                or self.expressions.text(expression, [column.name for column in rows.columns]),
                sources=tuple(sorted(sources)),
                functions=tuple(sorted(functions - {""})),
            )
        )

    def _project(self, node: ProjectRel) -> Rows:
        rows = self._rel(node.input)
        added = tuple(self._computed(expression, rows) for expression in node.expressions)
        windows = [e for e in node.expressions if self._has_window(e, rows)]
        return Rows(rows.columns + added, None if windows else rows.scan)

    def _has_window(self, expression: Expression, rows: Rows) -> bool:
        """Return whether an expression has window functions, and add these to the report."""
        has_window = False
        waiting = [expression]
        while waiting:
            current = waiting.pop()
            waiting += children(current)
            if current.WhichOneof("rex_type") != "window_function":
                continue
            has_window, window = True, current.window_function
            names = [column.name for column in rows.columns]
            self._windows.append(
                WindowLineage(
                    function=self.expressions.functions[window.function_reference],
                    partition_by=tuple(self.expressions.text(e, names) for e in window.partitions),
                    order_by=self.expressions.order(window.sorts, names),
                )
            )
        return has_window

    def _computed(self, expression: Expression, rows: Rows) -> Column:
        place = field_index(expression)
        if place is not None:
            self._need([rows.columns[place]])
            return rows.columns[place]
        names = [column.name for column in rows.columns]
        sources = self._use([expression], rows)
        is_window = expression.WhichOneof("rex_type") == "window_function"
        kind = ExpressionKind.WINDOW if is_window else ExpressionKind.PROJECTION
        self._record(kind, expression, rows, sources)
        return Column(self.expressions.text(expression, names), sources, type_of(expression, rows))

    def _aggregate(self, node: AggregateRel) -> Rows:
        rows = self._rel(node.input)
        names = [column.name for column in rows.columns]
        keys = tuple(self._computed(key, rows) for key in node.grouping_expressions)
        for key, expression in zip(keys, node.grouping_expressions, strict=True):
            self._row_sources |= key.sources
            self._record(ExpressionKind.GROUP, expression, rows, key.sources)
        measures, types = [], []
        for measure in node.measures:
            used = [argument.value for argument in measure.measure.arguments]
            types.append(type_of(used[0], rows) if used else "")
            used += [sort.expr for sort in measure.measure.sorts]
            if measure.HasField("filter"):
                used.append(measure.filter)
            text = self.expressions.measure(measure, names)
            column = Column(text, self._use(used, rows), types[-1])
            measures.append(column)
            self._expression_lineage.append(
                ExpressionLineage(
                    kind=ExpressionKind.AGGREGATE,
                    text=text,
                    sources=tuple(sorted(column.sources)),
                    functions=(self.expressions.functions[measure.measure.function_reference],),
                )
            )
        self._aggregates.append(
            AggregateLineage(
                keys=tuple(key.name for key in keys),
                measures=tuple(measure.name for measure in measures),
                types=tuple(types),
            )
        )
        grouping_sets = (Column("grouping", frozenset()),) if len(node.groupings) > 1 else ()
        plain = tuple(Column(key.name, key.sources, key.type) for key in keys)
        return Rows((*plain, *measures, *grouping_sets))

    def _join(self, node: JoinRel) -> Rows:
        left, right = self._rel(node.left), self._rel(node.right)
        both = Rows(left.columns + right.columns)
        names = [column.name for column in both.columns]
        for name in ("expression", "post_join_filter"):
            if node.HasField(name):
                used = self._use([getattr(node, name)], both)
                self._row_sources |= used
                self._record(ExpressionKind.JOIN, getattr(node, name), both, used)
        if node.HasField("post_join_filter"):
            self._filters.append(self.expressions.text(node.post_join_filter, names))
        keys = self._key_pairs(node.expression, len(left.columns), names)
        condition = (
            self.expressions.text(node.expression, names) if node.HasField("expression") else ""
        )
        kind = JoinRel.JoinType.Name(node.type).removeprefix("JOIN_TYPE_").lower()
        self._joins.append(JoinLineage(kind=kind, keys=keys, condition=condition))
        match kind:
            case "left_semi" | "left_anti":
                return Rows(left.columns)
            case "right_semi" | "right_anti":
                return Rows(right.columns)
            case "left_mark":
                return Rows((*left.columns, Column("mark", frozenset())))
            case "right_mark":
                return Rows((*right.columns, Column("mark", frozenset())))
            case _:
                return both

    def _key_pairs(
        self, condition: Expression, width: int, names: list[str]
    ) -> tuple[tuple[str, str], ...]:
        """Return the pairs of a left and a right column that the condition equates."""
        pairs = []
        for part in self.expressions.conjuncts(condition):
            sides = self.expressions.equal_sides(part)
            places = sorted(p for p in map(field_index, sides) if p is not None)
            if len(places) == 2 and places[0] < width <= places[1]:  # noqa: PLR2004
                pairs.append((names[places[0]], names[places[1]]))
        return tuple(pairs)

    def _cross(self, node: CrossRel) -> Rows:
        left, right = self._rel(node.left), self._rel(node.right)
        self._joins.append(JoinLineage(kind="cross", keys=(), condition=""))
        return Rows(left.columns + right.columns)

    def _set(self, node: SetRel) -> Rows:
        inputs = [self._rel(rel).columns for rel in node.inputs]
        for columns in inputs:
            self._need(columns)
            if node.op != SetRel.SET_OP_UNION_ALL:
                self._row_sources |= frozenset().union(*(column.sources for column in columns))
        return Rows(
            tuple(
                Column(
                    columns[0].name,
                    frozenset().union(*(column.sources for column in columns)),
                    columns[0].type,
                )
                for columns in zip(*inputs, strict=True)
            )
        )

    def _use(self, expressions: Sequence[Expression], rows: Rows) -> frozenset[str]:
        """Mark the columns of expressions as needed, and return their sources."""
        sources: set[str] = set()
        waiting = list(expressions)
        while waiting:
            expression = waiting.pop()
            place = field_index(expression)
            if place is not None:
                self._need([rows.columns[place]])
                sources |= rows.columns[place].sources
                continue
            for plan in subplans(expression):
                inner = self._rel(plan)
                self._need(inner.columns)
                for column in inner.columns:
                    sources |= column.sources
            waiting += children(expression)
        return frozenset(sources)

    def _need(self, columns: Sequence[Column]) -> None:
        for column in columns:
            if column.origin is not None:
                number, place = column.origin
                self.scans[number].needed.add(place)
