"""Turns what views read of sources into scan units and the source parts of skip keys.

The columns and predicates that a view's plan needs enter; the files that remain after pruning, and
their digest, leave. One plan prunes a source once per predicate, however many views share it.
"""

from collections.abc import Mapping

import msgspec

from headrace.expr.node import Predicate
from headrace.pipeline.analysis.analyser import RelationReads
from headrace.pipeline.analysis.naming import Naming
from headrace.pipeline.analysis.pruning import combine
from headrace.pipeline.bundle.carried_digest import carry_digest
from headrace.pipeline.bundle.scan_unit import ScanUnit, scan_unit
from headrace.pipeline.bundle.skip_key import KeyParts, SourcePart
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.source import PinnedSource


class SourceReader(msgspec.Struct):
    """Prunes the files of sources, once for each source and predicate."""

    sources: Mapping[str, PinnedSource]
    _pruned: dict[tuple[str, str | None], FileSet] = msgspec.field(default_factory=dict)
    _columns: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)

    def unit(self, name: str, reads: RelationReads) -> ScanUnit:
        """Return what a view reads of a source, over all its scans."""
        source = self.sources[name]
        predicate = combine(reads.predicates)
        used = reads.columns
        columns = [f.name for f in source.schema if used is None or f.name.casefold() in used]
        return scan_unit(
            source.pin,
            self._files(name, predicate),
            where=_stored(predicate),
            filters=tuple(sorted(reads.filters)),
            columns=tuple(columns),
        )

    def part(
        self, unit: ScanUnit, naming: Naming, *, previous: KeyParts | None, order_free: bool
    ) -> SourcePart:
        """Return a unit as a part of a skip key, with the older digest if that is still valid.

        Columns that the view names but does not use are part of the key, too: if one appeared or
        disappeared, its name could refer to another column.
        """
        source = self.sources[unit.source]
        used = set(unit.columns)
        columns = {
            name: identity
            for name, identity in self._identities(unit.source).items()
            if name in used or name.casefold() in naming.names or naming.counts_distinct_rows
        }
        digest, carried_from = unit.digest, None
        then = None if previous is None else previous.sources.get(unit.source)
        if then is not None and order_free and then.digest != unit.digest:
            files = self._files(unit.source, unit.where)
            carried = carry_digest(source, files, where=unit.where, then=then)
            if carried.digest is not None:
                digest, carried_from = carried.digest, then.carried_from or then.version
        return SourcePart(
            digest=digest,
            columns=columns,
            table=source.pin.table_id,
            order=tuple(n for n in columns if n in used) if naming.has_star else (),
            version=unit.version,
            where=unit.where,
            carried_from=carried_from,
        )

    def _identities(self, name: str) -> dict[str, str]:
        if name not in self._columns:
            self._columns[name] = self.sources[name].column_identities()
        return self._columns[name]

    def _files(self, name: str, where: str | Predicate | None) -> FileSet:
        key = name, _stored(where)
        if key not in self._pruned:
            self._pruned[key] = self.sources[name].prune(where)
        return self._pruned[key]


def _stored(where: str | Predicate | None) -> str | None:
    """Return a predicate in the form that bundles and keys store."""
    return None if where is None else str(where)
