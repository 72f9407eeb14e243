"""Paths of the log, and the spellings under which they mean the same file."""

from collections.abc import Callable, Sequence
from typing import TypeAlias
from urllib.parse import quote

Spellings: TypeAlias = tuple[str, ...]
Kind: TypeAlias = Callable[[str, int], Spellings]


def plain(name: str, place: int) -> Spellings:  # noqa: ARG001 - one shape for all of them
    """A name that everybody spells in one way."""
    return (f"{name}.parquet",)


def escaped(name: str, place: int) -> Spellings:
    """One letter may be escaped, though it need not be."""
    at = place % len(name)
    return (f"{name}.parquet", f"{name[:at]}%{ord(name[at]):02X}{name[at + 1 :]}.parquet")


def spaced(name: str, place: int) -> Spellings:
    """A space is escaped by some writers, and not by others."""
    at = place % len(name)
    path = f"{name[:at]} {name[at:]}.parquet"
    return (quote(path), path)


def accented(name: str, place: int) -> Spellings:
    """Two bytes for one letter, six where it is escaped."""
    at = place % len(name)
    path = f"{name[:at]}ü{name[at:]}.parquet"
    return (quote(path), path)


def escaped_twice(name: str, place: int) -> Spellings:
    """The file's name has a percent sign: it must be decoded once, not twice."""
    at = place % len(name)
    return (quote(quote(f"{name[:at]} {name[at:]}.parquet")),)


def absolute(name: str, place: int) -> Spellings:  # noqa: ARG001
    """A file outside the table, as shallow clones have them."""
    path = f"/abs/{name}.parquet"
    return (path, f"file:{path}", f"file://{path}")


def foreign(name: str, place: int) -> Spellings:  # noqa: ARG001
    """A file of another store."""
    return (f"s3://bucket/{name}.parquet",)


ALL: Sequence[Kind] = (
    plain,
    escaped,
    spaced,
    accented,
    escaped_twice,
    absolute,
    foreign,
)
SINGLE: Sequence[Kind] = (plain, escaped_twice)
"""Those that every reader takes for one file, because there is only one spelling."""
