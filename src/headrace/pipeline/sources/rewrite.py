"""Checks commits that claim to have moved rows only, as a compaction does.

A wrong claim would hide rows from views that are skipped for it. The number of rows before and
after such a commit is compared; with statistics, that reads only the log.
"""

from collections.abc import Iterable

from headrace.scan.changes import ChangeKind, FileChange
from headrace.table import Table


def find_false_rewrite(table: Table, changes: Iterable[FileChange]) -> int | None:
    """Return the first version whose commit claims to have moved rows only, but did more.

    A commit that moves some rows and changes others is not proven to have done no more.

    Raises:
        TableError, DamageError: a version cannot be counted.
    """
    claims: dict[int, set[bool]] = {}
    for change in changes:
        if change.kind is not ChangeKind.CDC:
            claims.setdefault(change.version, set()).add(change.data_change)
    for version, claim in sorted(claims.items()):
        if False in claim and (True in claim or _rows(table, version - 1) != _rows(table, version)):
            return version
    return None


def _rows(table: Table, version: int) -> int:
    return 0 if version < 0 else int(table.snapshot(version=version).count())
