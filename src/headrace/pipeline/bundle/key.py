"""The skip key: what a view's result depends on, part by part.

Two keys are equal if the text (but for comments, layout and the case of keywords), the functions,
the files and columns read, the settings, the engine and everything upstream are. The parts are
kept, so that a change can be named.
"""

from typing import Any

import msgspec

from headrace.pipeline.bundle.digest import digest_of
from headrace.pipeline.functions.fingerprint import FunctionPart

_FORMAT = 1


class SourcePart(msgspec.Struct, frozen=True, kw_only=True):
    """What a view reads of one source."""

    digest: str
    """Of the files that are left after pruning, with the ids of their deletion vectors."""
    columns: dict[str, str]
    """The columns that it uses, with their types."""
    version: int | None = None
    """Not part of the key: another version with the same files is the same."""
    where: str | None = None
    """The predicate that pruned the files; not part of the key, the text of the view is."""
    carried_from: int | None = None
    """The version whose digest still stands: since then files were only rewritten."""

    def identity(self) -> dict[str, Any]:
        """What goes into the key."""
        return {"digest": self.digest, "columns": self.columns}


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
    volatile: tuple[str, ...] = ()
    """Why the view must run every time, if it must."""

    def definition_key(self) -> str:
        """The key without what is read: what stands for a view that is computed in place."""
        return digest_of(
            {
                "format": _FORMAT,
                "tokens": self.tokens,
                "functions": {name: part.fingerprint for name, part in self.functions.items()},
                "settings": self.settings,
                "engine": self.engine,
                "upstream": self.upstream,
            }
        )

    def skip_key(self) -> str | None:
        """The key; None if the view must run every time."""
        if self.volatile:
            return None
        sources = {name: part.identity() for name, part in self.sources.items()}
        return digest_of({"definition": self.definition_key(), "sources": sources})
