"""Resolves names within a part of a query, as far as its text and the schemas allow.

Types are known only where a name leads to them. A relation whose columns are not all known is open:
a name that nothing else explains may be one of its columns.
"""

from collections.abc import Iterator, Sequence

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.arrow_ddl import type_text
from headrace.pipeline.translation.refusal import Refused, nearest, wrong
from headrace.pipeline.translation.scope import SPARK_NAMES

Sources = frozenset[str]
"""Columns of relations, as `relation.column`."""
NOTHING: Sources = frozenset()


class Field(msgspec.Struct, frozen=True):
    """A column: its name in lower case, its sources, and its type where known."""

    name: str
    sources: Sources
    type: pa.DataType | None = None


class NamedRelation(msgspec.Struct, frozen=True, kw_only=True):
    """A relation in FROM."""

    name: str
    fields: tuple[Field, ...]
    base: str | None = None
    """The source or view that it refers to, if any."""
    is_open: bool = False
    """Whether it may have columns that are not listed."""
    sources: Sources = NOTHING
    """The possible sources of unlisted columns."""

    def named(self, name: str) -> list[Field]:
        """Return its columns with this name."""
        return [field for field in self.fields if field.name == name]

    def unlisted(self, name: str) -> Field:
        """Return a column that an open relation may have."""
        sources = frozenset({f"{self.base}.{name}"}) if self.base is not None else self.sources
        return Field(name, sources)


class NameScope(msgspec.Struct, kw_only=True):
    """The visible names: relations of FROM, aliases of the SELECT list, and the outer scopes."""

    relations: list[NamedRelation] = msgspec.field(default_factory=list)
    parent: "NameScope | None" = None
    merged: set[str] = msgspec.field(default_factory=set)
    """Names of columns that a join merged into one."""
    aliases: dict[str, Field] = msgspec.field(default_factory=dict)

    def fields(self) -> Iterator[Field]:
        """Yield the columns of `*`."""
        seen: set[str] = set()
        for relation in self.relations:
            for field in relation.fields:
                if field.name not in seen or field.name not in self.merged:
                    yield field
                seen.add(field.name)

    @property
    def is_open(self) -> bool:
        """Return whether a name may be a column that is not listed."""
        return any(relation.is_open for relation in self.relations)

    def find(self, node: exp.Column) -> Field:
        """Return the column that a name refers to.

        Raises:
            Refused: the name is unknown or ambiguous.
        """
        parts = [part.name.casefold() for part in node.parts]
        scope: NameScope | None = self
        while scope is not None:
            field = scope._find_local(parts, node)  # noqa: SLF001  (an outer scope)
            if field is not None:
                return field
            scope = scope.parent
        if parts[0] in SPARK_NAMES:
            return Field(parts[0], NOTHING)
        raise self._unknown(parts, node)

    def _find_local(self, parts: Sequence[str], node: exp.Column) -> Field | None:
        """Return the column that a name refers to in this scope alone; None if there is none."""
        for width in range(min(3, len(parts) - 1), 0, -1):
            qualifier = ".".join(parts[:width])
            for relation in self.relations:
                if qualifier in {relation.name, relation.base}:
                    fields = relation.named(parts[width])
                    if fields or relation.is_open:
                        field = fields[0] if fields else relation.unlisted(parts[width])
                        return inside(field, parts[width + 1 :], node)
        holders = [r for r in self.relations if r.named(parts[0])]
        if len(holders) > 1 and parts[0] not in self.merged:
            tables = ", ".join(sorted(r.name for r in holders))
            raise wrong(node, f"the name is ambiguous: {tables} have it")
        if holders:
            sources = NOTHING.union(*(f.sources for r in holders for f in r.named(parts[0])))
            first = holders[0].named(parts[0])[0]
            return inside(Field(parts[0], sources, first.type), parts[1:], node)
        if parts[0] in self.aliases:
            return inside(self.aliases[parts[0]], parts[1:], node)
        is_qualified = len(parts) > 1 and parts[0] in {r.name for r in self.relations}
        unlisted = [r.unlisted(parts[0]) for r in self.relations if r.is_open]
        if unlisted and not is_qualified:
            return Field(parts[0], NOTHING.union(*(field.sources for field in unlisted)))
        return None

    def _unknown(self, parts: Sequence[str], node: exp.Column) -> Refused:
        """Return the error for an unknown name, with the nearest known one."""
        relations, fields = self._names()
        name = parts[-1]
        if len(parts) > 1 and parts[0] not in {*relations, *fields}:
            known, reason = [*relations], f"there is no relation or column {parts[0]}"
            name = parts[0]
        elif len(parts) > 1 and parts[0] in relations:
            known = [field.name for field in relations[parts[0]]]
            reason = f"{parts[0]} has no such column"
            name = parts[1]
        else:
            known, reason = fields, "there is no such column"
        return wrong(node, listed(reason, known), nearest_name(name, known))

    def _names(self) -> tuple[dict[str, tuple[Field, ...]], list[str]]:
        relations: dict[str, tuple[Field, ...]] = {}
        fields: dict[str, None] = {}
        scope: NameScope | None = self
        while scope is not None:
            for relation in scope.relations:
                relations.setdefault(relation.name, relation.fields)
                fields |= dict.fromkeys(field.name for field in relation.fields)
            fields |= dict.fromkeys(scope.aliases)
            scope = scope.parent
        return relations, [*fields]


def inside(field: Field, path: Sequence[str], node: exp.Expr) -> Field:
    """Follow a path of struct fields, through arrays and maps as Spark does.

    Raises:
        Refused: there is no such field.
    """
    kind = field.type
    for name in path:
        if kind is None:
            break
        is_array = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        struct = kind.value_type if is_array else kind
        if pa.types.is_map(struct):
            kind = struct.item_type
            continue
        if not pa.types.is_struct(struct):
            raise wrong(node, f"it has no field {name}: {type_text(kind)} is not a struct")
        names = [part.name.casefold() for part in struct]
        if name not in names:
            reason = listed(f"the struct has no field {name}", names)
            raise wrong(node, reason, nearest_name(name, names))
        inner = struct.field(names.index(name)).type
        kind = pa.list_(inner) if is_array else inner
    return Field(path[-1] if path else field.name, field.sources, kind)


def has_variant(kind: pa.DataType) -> bool:
    """Return whether a type contains a variant, which Arrow sees only as its storage struct."""
    if pa.types.is_struct(kind):
        parts = [field.type for field in kind]
        names = {field.name for field in kind}
        return names == {"metadata", "value"} or any(has_variant(part) for part in parts)
    if pa.types.is_map(kind):
        return has_variant(kind.item_type)
    return bool(pa.types.is_list(kind)) and has_variant(kind.value_type)


_MAX_LISTED = 8


def listed(reason: str, known: Sequence[str]) -> str:
    """Append the known names to a reason, if they are few."""
    return f"{reason} ({', '.join(known)})" if 0 < len(known) <= _MAX_LISTED else reason


def nearest_name(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that is most similar to an unknown one, if it is at all similar."""
    return nearest(name.casefold(), known, cutoff=0.5)
