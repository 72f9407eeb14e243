"""Resolves names within a part of a query.

A `Scope` holds the visible columns and aliases, and links to the scope of the enclosing query. A
name enters; its typed expression leaves, or an error with a similar name if there is one.
"""

from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.translation.refusal import nearest, unsupported, wrong
from headrace.pipeline.translation.typed import Typed, call, identifier

SPARK_NAMES = frozenset(
    {
        *("current_date", "current_time", "current_timestamp", "localtimestamp", "grouping__id"),
        *("user", "current_user", "session_user", "_metadata", "session", "system"),
        *("window", "session_window"),
    }
)
"""Names that Spark reads as calls, hidden columns or variables if there is no such column."""


class Output(msgspec.Struct, frozen=True):
    """A column of a relation."""

    name: str
    type: pa.DataType
    nullable: bool = True
    is_aggregated: bool = False
    """Whether it is computed from an aggregate, or after a window function."""
    is_fallible: bool = False
    """Whether it raises for some rows, and Spark evaluates it before a filter on the columns that
    are aggregated."""
    is_window: bool = False
    """Whether it is computed from a window function."""
    is_named: bool = True
    """Whether its name is known: if the author gives none, Spark generates one."""
    can_fail: bool = False
    """Whether computing it raises for some rows."""
    is_order: bool = False
    """Whether it can fail, and its query is ordered by it without a limit."""


class ScopeColumn(msgspec.Struct, frozen=True):
    """A column that a query may refer to."""

    qualifier: str
    name: str
    value: Typed
    is_hidden: bool = False
    """Whether it needs a qualified name: one side of a join by USING."""
    is_aggregated: bool = False
    is_fallible: bool = False
    is_window: bool = False
    is_named: bool = True
    can_fail: bool = False
    is_order: bool = False
    """As of `Output`."""


class FilteredRelation(msgspec.Struct, frozen=True):
    """A relation of FROM whose query drops rows."""

    text: str
    """Its text in FROM."""
    columns: list[ScopeColumn]
    guard: Callable[[frozenset[int]], str]
    """Returns the text in which the columns at these positions are null for dropped rows."""


class GroupingMarks(msgspec.Struct, frozen=True):
    """What `grouping` and `grouping_id` return."""

    keys: dict[str, Typed]
    """Whether a key is absent from the set of a row, by the text of the key, in key order."""
    identity: Typed


class Scope(msgspec.Struct):
    """The visible columns, innermost first."""

    columns: list[ScopeColumn]
    parent: "Scope | None" = None
    aliases: dict[str, Typed] = msgspec.field(default_factory=dict)
    """Aliases of the SELECT list, which later items and other clauses may use."""
    prefers_aliases: bool = False
    groups: dict[str, Typed] = msgspec.field(default_factory=dict)
    """What replaces a grouping expression after grouping, by its text."""
    has_groups: bool = False
    """Whether the query has GROUP BY."""
    is_correlated: bool = False
    """Whether a name of an enclosing query was used."""
    marks: GroupingMarks | None = None
    """The marks of grouping sets, if there are any."""
    aggregates: list[Typed] = msgspec.field(default_factory=list)
    """The aggregates that were compiled so far."""
    filtered: list[FilteredRelation] = msgspec.field(default_factory=list)
    """The relations of FROM whose queries drop rows."""
    has_generator: bool = False
    """Whether the query makes rows from arrays, so that its columns are those of a new relation."""
    fallible: list[Typed] = msgspec.field(default_factory=list)
    """The conditions of joins that can raise."""

    def find(self, node: exp.Column) -> Typed:
        """Resolve a name.

        Raises:
            Refused: it is unknown or ambiguous.
        """
        parts = [part.name for part in node.parts]
        value = self.look_up(parts, node)
        if value is None and parts[0].casefold() in SPARK_NAMES:
            raise unsupported(node, "the name has a special meaning in Spark")
        if value is None and not all(column.is_named for column in self.columns):
            raise unsupported(node, "it may be a name that Spark generates; use AS")
        if value is None:
            raise wrong(node, "there is no such column", self._similar(parts[-1]))
        return value

    def look_up(self, parts: Sequence[str], node: exp.Column) -> Typed | None:
        """Resolve a name here or in an outer scope; None if it is unknown."""
        alias = self.aliases.get(parts[0].casefold()) if len(parts) == 1 else None
        if alias is not None and self.prefers_aliases:
            return alias
        value = self._local(parts, node)
        if value is not None:
            return value
        if alias is not None:
            return alias
        if self.parent is None:
            return None
        value = self.parent.look_up(parts, node)
        if value is not None:
            if self.parent.means_alias(parts):
                raise wrong(node, "a query cannot refer to an alias of the query around it")
            self.is_correlated = True
        return value

    def means_alias(self, parts: Sequence[str]) -> bool:
        """Return whether a name is an alias and not a column."""
        name = parts[0].casefold()
        return name in self.aliases and not any(column.name == name for column in self.columns)

    def _local(self, parts: Sequence[str], node: exp.Column) -> Typed | None:
        """Resolve a name among the columns of this scope alone."""
        folded = [part.casefold() for part in parts]
        if len(parts) > 1:
            qualified = [
                c for c in self.columns if (c.qualifier, c.name) == tuple(folded[:2]) and c.is_named
            ]
            if qualified:
                return _inside(_only(qualified, node), parts[2:], node)
        plain = [c for c in self.columns if c.name == folded[0] and not c.is_hidden and c.is_named]
        return _inside(_only(plain, node), parts[1:], node) if plain else None

    def before_grouping(self) -> "Scope":
        """Return the names that the argument of an aggregate may use: keys are not replaced."""
        return Scope(self.columns, self.parent, self.aliases, self.prefers_aliases)

    def _similar(self, name: str) -> str | None:
        known = [*(column.name for column in self.columns), *self.aliases]
        return nearest(name.casefold(), known)


def _only(columns: Sequence[ScopeColumn], node: exp.Column) -> Typed:
    if len(columns) > 1:
        tables = ", ".join(sorted(column.qualifier for column in columns))
        raise wrong(node, f"the name is ambiguous: {tables} have it")
    return columns[0].value


def _inside(value: Typed, path: Sequence[str], node: exp.Expr) -> Typed:
    """Follow a path of struct fields."""
    for name in path:
        value = field_of(value, name, node)
    return value


def field_of(value: Typed, name: str, node: exp.Expr) -> Typed:
    """Return a field of a struct by its case-insensitive name.

    Raises:
        Refused: there is no such field.
    """
    if not pa.types.is_struct(value.type):
        raise unsupported(node, f"it has no field {name}: it is not a struct")
    names = [field.name.casefold() for field in value.type]
    if names.count(name.casefold()) != 1:
        raise wrong(node, f"the struct has no field {name}", nearest(name.casefold(), names))
    place = names.index(name.casefold())
    return call("field", value.type.field(place).type, value, parameters=(str(place),))


def columns_of(qualifier: str, outputs: Sequence[Output]) -> list[ScopeColumn]:
    """Return the columns of a relation under a name."""
    return [
        ScopeColumn(
            qualifier,
            output.name.casefold(),
            Typed(
                f"{identifier(qualifier)}.{identifier(output.name.casefold())}",
                output.type,
                nullable=output.nullable,
            ),
            is_aggregated=output.is_aggregated,
            is_fallible=output.is_fallible,
            is_window=output.is_window,
            is_named=output.is_named,
            can_fail=output.can_fail,
            is_order=output.is_order,
        )
        for output in outputs
    ]
