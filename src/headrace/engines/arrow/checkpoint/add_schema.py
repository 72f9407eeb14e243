"""Checks that a Parquet checkpoint stores its adds as the protocol requires.

A columnar reader would mistake a file with another schema for one without adds, or return bytes
instead of a string. The check runs once per file, before any rows are returned, so that an older
base can replace it.
"""

from collections import defaultdict
from enum import Enum

from headrace.engines.arrow.checkpoint.footer import Footer


class _Kind(Enum):
    """The storage type of a field of an add."""

    TEXT = "a text"
    INTEGER = "a whole number"
    TEXTS = "a map of texts"
    VECTOR = "a deletion vector"


_KINDS = {
    "path": _Kind.TEXT,
    "size": _Kind.INTEGER,
    "modificationTime": _Kind.INTEGER,
    "stats": _Kind.TEXT,
    "partitionValues": _Kind.TEXTS,
    "tags": _Kind.TEXTS,
    "deletionVector": _Kind.VECTOR,
}
_REQUIRED = ("path", "size")
_TEXTUAL = frozenset({"STRING", "ENUM", "JSON"})
_INTEGRAL = frozenset({"NONE", "INT"})


def check_adds(footer: Footer) -> None:
    """Check that the adds have the required types, or that there is no column for them.

    Raises:
        ValueError: a field has another type, or one that every add must have is missing.
    """
    fields: dict[str, list[str]] = defaultdict(list)
    for leaf_column in footer.positions:
        action, _, path = leaf_column.partition(".")
        if action == "add":
            fields[path.partition(".")[0]].append(leaf_column)
    for name in _REQUIRED:
        if fields and name not in fields:
            raise ValueError(f"its adds have no {name}")
    if "partitionValues_parsed" in fields and "partitionValues" not in fields:
        raise ValueError("its adds have only typed partition values")
    for name, kind in _KINDS.items():
        if name in fields and not _has_kind(kind, f"add.{name}", fields[name], footer):
            raise ValueError(f"add.{name} is not {kind.value}")


def _has_kind(kind: _Kind, column: str, leaf_columns: list[str], footer: Footer) -> bool:
    if kind is _Kind.VECTOR:
        texts = [f"{column}.{name}" for name in ("storageType", "pathOrInlineDv")]
        return set(texts) <= set(leaf_columns) and all(
            _has_kind(_Kind.TEXT, t, [t], footer) for t in texts
        )
    stored = [
        footer.metadata.schema.column(footer.positions[leaf_column]) for leaf_column in leaf_columns
    ]
    logical = {leaf_column.logical_type.type for leaf_column in stored}
    match kind:
        case _Kind.TEXT:
            return leaf_columns == [column] and logical <= _TEXTUAL
        case _Kind.INTEGER:
            is_whole = stored[0].physical_type in ("INT32", "INT64") and logical <= _INTEGRAL
            return leaf_columns == [column] and is_whole
        case _Kind.TEXTS:
            is_map = len(leaf_columns) == len(("key", "value")) and column not in leaf_columns
            return is_map and logical <= _TEXTUAL and stored[0].max_repetition_level == 1
