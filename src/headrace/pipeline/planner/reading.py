"""What views read of sources, as scan units and as parts of keys."""

from collections.abc import Mapping

import msgspec

from headrace.pipeline.analysis.analyser import RelationReads
from headrace.pipeline.analysis.naming import Naming
from headrace.pipeline.analysis.pruning import combine
from headrace.pipeline.bundle.compaction import carry_digest
from headrace.pipeline.bundle.key import KeyParts, SourcePart
from headrace.pipeline.bundle.scan_unit import ScanUnit, scan_unit
from headrace.pipeline.sources.column_identity import column_identities
from headrace.pipeline.sources.file_set import FileSet
from headrace.pipeline.sources.source import Source


class SourceReader(msgspec.Struct):
    """Prunes the files of sources; the same question is asked only once."""

    sources: Mapping[str, Source]
    _pruned: dict[tuple[str, str | None], FileSet] = msgspec.field(default_factory=dict)
    _columns: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)

    def unit(self, name: str, reads: RelationReads) -> ScanUnit:
        """What a view reads of a source, over all its scans of it."""
        source = self.sources[name]
        found = combine(reads.predicates)
        where = None if found is None else str(found)
        wanted = reads.columns
        columns = [f.name for f in source.schema if wanted is None or f.name.casefold() in wanted]
        return scan_unit(
            source.pin,
            self._files(name, where),
            where=where,
            filters=tuple(sorted(reads.filters)),
            columns=tuple(columns),
        )

    def part(
        self, unit: ScanUnit, naming: Naming, *, previous: KeyParts | None, order_free: bool
    ) -> SourcePart:
        """The unit as a part of a key; its digest is the older one if that still stands.

        A column that the view names but does not use is part of it, too: were it not there, or
        were there one where there is none, the name might mean another column.
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
            self._columns[name] = column_identities(self.sources[name])
        return self._columns[name]

    def _files(self, name: str, where: str | None) -> FileSet:
        if (name, where) not in self._pruned:
            self._pruned[name, where] = self.sources[name].prune(where)
        return self._pruned[name, where]
