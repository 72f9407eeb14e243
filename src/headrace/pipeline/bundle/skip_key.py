"""The skip key: a hash of everything that a view's result depends on, kept part by part.

Two keys are equal if the SQL (apart from comments, layout and the case of keywords), the functions,
the files and columns read, the settings, the runner and everything upstream are equal. The parts
are stored, so that a change can be explained.
"""

from typing import Any

import msgspec

from headrace.pipeline.bundle.content_hash import content_hash
from headrace.pipeline.functions.fingerprint import FunctionPart

FORMAT = 3
"""The current format. Keys of other formats cannot be compared, so their views run again."""
FUNCTION_FORMAT = 2
"""The first format whose function fingerprints can be compared with current ones."""
_FIRST_FORMAT = 1


class SourcePart(msgspec.Struct, frozen=True, kw_only=True):
    """What a view reads of one source."""

    digest: str
    """The digest of the pruned files: paths, vectors, sizes, times and partition values."""
    columns: dict[str, str]
    """The columns that the view uses or names, with their types and, under column mapping, their
    physical names."""
    table: str = ""
    """The id of the table: a new table at the same address has another id."""
    order: tuple[str, ...] = ()
    """The columns in the source's order if the view depends on it, as `SELECT *` does."""
    version: int | None = None
    """Not part of the key: a version with the same files has the same key."""
    where: str | None = None
    """The predicate that pruned the files. Not part of the key, which has the SQL of the view."""
    carried_from: int | None = None
    """The version that the digest was carried from; files have only been rewritten since."""

    def identity(self, *, format: int) -> dict[str, Any]:  # noqa: A002  (that of the key)
        """Return what a key of a format covers."""
        first = {"digest": self.digest, "columns": self.columns}
        if format == _FIRST_FORMAT:
            return first
        return {**first, "table": self.table, "order": self.order}


class KeyParts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a view's result depends on."""

    tokens: tuple[str, ...]
    functions: dict[str, FunctionPart]
    sources: dict[str, SourcePart]
    settings: dict[str, str]
    """Time zone, ANSI mode, the variables that the view uses, and how its result is written."""
    engine: str
    """The runner and its version, such as `spark 4.3.0`."""
    upstream: dict[str, str]
    """The skip key of each upstream view; the definition key of one that is inlined."""
    computation: dict[str, str] = {}
    """What computes the view on DataFusion, part by part: the translated query, and the code of
    Headrace that runs it. Empty if Spark runs the author's SQL."""
    volatile: tuple[str, ...] = ()
    """Why the view must run every time; empty if it need not."""
    format: int = _FIRST_FORMAT
    """The format of the key; stored keys without one have the first format."""

    def definition_key(self) -> str:
        """Return the key without sources, which identifies a view that is inlined."""
        parts: dict[str, Any] = {
            "format": self.format,
            "tokens": self.tokens,
            "functions": {name: part.fingerprint for name, part in self.functions.items()},
            "settings": self.settings,
            "engine": self.engine,
            "upstream": self.upstream,
        }
        if self.computation:  # so that keys for Spark are the same as in earlier releases
            parts["computation"] = self.computation
        return content_hash(parts)

    def defines(self, newer: "KeyParts") -> bool:
        """Return whether another key is that of the same view, perhaps over other sources."""
        return self.definition_key() == newer.definition_key()

    def skip_key(self) -> str | None:
        """Return the skip key; None if the view must run every time."""
        if self.volatile:
            return None
        sources = {name: part.identity(format=self.format) for name, part in self.sources.items()}
        return content_hash({"definition": self.definition_key(), "sources": sources})

    def is_same_but_for_code(self, older: "KeyParts") -> bool:
        """Return whether a key differs from an older one at most in the code that computes it."""
        then = msgspec.structs.replace(older, computation=self.computation)
        return self.skip_key() is not None and self.skip_key() == then.skip_key()

    def is_same_by_version(self, older: "KeyParts") -> bool:
        """Return whether a key of an older format covers the same work.

        It does for the same SQL over the same table versions with the same settings and runner.
        Views that use functions, other views or unversioned files cannot be compared.
        """
        versions = {name: part.version for name, part in self.sources.items()}
        return (
            self.tokens == older.tokens
            and self.engine == older.engine
            and not (self.functions or self.upstream or self.volatile)
            and not (older.functions or older.upstream or older.volatile)
            and None not in versions.values()
            and versions == {name: part.version for name, part in older.sources.items()}
            and all(self.settings.get(name) == value for name, value in older.settings.items())
        )
