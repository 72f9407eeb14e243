"""Paths in the log, and the different spellings that refer to the same file."""

from collections.abc import Callable, Sequence
from typing import TypeAlias
from urllib.parse import quote

Spellings: TypeAlias = tuple[str, ...]
Kind: TypeAlias = Callable[[str, int], Spellings]


def plain(name: str, place: int) -> Spellings:  # noqa: ARG001 - one shape for all of them
    """A name with only one spelling."""
    return (f"{name}.parquet",)


def escaped(name: str, place: int) -> Spellings:
    """One letter may be percent-encoded, although it need not be."""
    at = place % len(name)
    return (f"{name}.parquet", f"{name[:at]}%{ord(name[at]):02X}{name[at + 1 :]}.parquet")


def spaced(name: str, place: int) -> Spellings:
    """A space, which some writers percent-encode and others do not."""
    at = place % len(name)
    path = f"{name[:at]} {name[at:]}.parquet"
    return (quote(path), path)


def accented(name: str, place: int) -> Spellings:
    """A letter of two bytes in UTF-8, or six characters when percent-encoded."""
    at = place % len(name)
    path = f"{name[:at]}ü{name[at:]}.parquet"
    return (quote(path), path)


def escaped_twice(name: str, place: int) -> Spellings:
    """The file name itself contains a percent sign: decode the path once, not twice."""
    at = place % len(name)
    return (quote(quote(f"{name[:at]} {name[at:]}.parquet")),)


def absolute(name: str, place: int) -> Spellings:  # noqa: ARG001
    """A file outside the table, as in shallow clones."""
    path = f"/abs/{name}.parquet"
    return (path, f"file:{path}", f"file://{path}")


def foreign(name: str, place: int) -> Spellings:  # noqa: ARG001
    """A file in another store."""
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
"""The kinds with only one spelling, which every reader treats as one file."""
