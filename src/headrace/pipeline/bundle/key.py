"""The skip key: what a view's result depends on, part by part.

Two keys are equal if the text (but for comments, layout and the case of keywords), the functions,
the files and columns read, the settings, the engine and everything upstream are. The parts are
kept, so that a change can be named.
"""

from typing import Any

import msgspec

from headrace.pipeline.bundle.digest import digest_of
from headrace.pipeline.functions.fingerprint import FunctionPart

FORMAT = 3
"""What keys are made of now. A key of another format cannot be compared, so its view runs again."""
FUNCTION_FORMAT = 2
"""The first format whose fingerprints of functions can be compared with today's."""
_FIRST_FORMAT = 1


class SourcePart(msgspec.Struct, frozen=True, kw_only=True):
    """What a view reads of one source."""

    digest: str
    """Of the files that are left after pruning: paths, vectors, sizes, times, partition values."""
    columns: dict[str, str]
    """The columns that it uses or names, each with its type and, under column mapping, the name
    that data files have for it."""
    table: str = ""
    """The id of the table: another one at the same address is another table."""
    order: tuple[str, ...] = ()
    """The columns in the order of the source, where the view depends on it: `SELECT *`."""
    version: int | None = None
    """Not part of the key: another version with the same files is the same."""
    where: str | None = None
    """The predicate that pruned the files; not part of the key, the text of the view is."""
    carried_from: int | None = None
    """The version whose digest still stands: since then files were only rewritten."""

    def identity(self, *, format: int) -> dict[str, Any]:  # noqa: A002  (that of the key)
        """What goes into a key of that format."""
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
    """Time zone, ANSI mode, the variables it uses, and how its result is written."""
    engine: str
    """The runner and its version, such as `spark 4.3.0`."""
    upstream: dict[str, str]
    """By upstream view: its skip key, or that of its definition if it is computed in place."""
    computation: dict[str, str] = {}
    """What computes it on DataFusion, part by part: the translated query, and Headrace's own code
    that runs it. Empty where Spark runs the author's text."""
    volatile: tuple[str, ...] = ()
    """Why the view must run every time, if it must."""
    format: int = _FIRST_FORMAT
    """What the key is made of; a stored key that does not say it has the first format."""

    def definition_key(self) -> str:
        """The key without what is read: what stands for a view that is computed in place."""
        parts: dict[str, Any] = {
            "format": self.format,
            "tokens": self.tokens,
            "functions": {name: part.fingerprint for name, part in self.functions.items()},
            "settings": self.settings,
            "engine": self.engine,
            "upstream": self.upstream,
        }
        if self.computation:  # so that keys for Spark stay what they were before there was any
            parts["computation"] = self.computation
        return digest_of(parts)

    def skip_key(self) -> str | None:
        """The key; None if the view must run every time."""
        if self.volatile:
            return None
        sources = {name: part.identity(format=self.format) for name, part in self.sources.items()}
        return digest_of({"definition": self.definition_key(), "sources": sources})

    def is_same_but_for_code(self, older: "KeyParts") -> bool:
        """Whether nothing but Headrace's own code, and what it runs on, is another one now."""
        then = msgspec.structs.replace(older, computation=self.computation)
        return self.skip_key() is not None and self.skip_key() == then.skip_key()

    def is_same_by_version(self, older: "KeyParts") -> bool:
        """Whether a key of an older format stands for the same work, as far as both can tell.

        The same text over the same versions of its tables, with the same settings and engine;
        what uses functions, other views or files without versions cannot be compared.
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
