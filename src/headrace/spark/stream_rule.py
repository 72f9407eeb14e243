"""Decides which files of a commit a stream returns, and which commits it rejects.

A stream of appended rows cannot express removed ones; the options say what to do about such
commits.
"""

from collections.abc import Sequence

from headrace.errors import UnstreamableChangeError
from headrace.protocol.action import Add
from headrace.scan.commit import Commit
from headrace.spark.source_option import Tolerance


def appended(commit: Commit, *, tolerance: Tolerance, table: str) -> Sequence[Add]:
    """Return the files whose rows a commit added; files that only move rows are excluded.

    Raises:
        UnstreamableChangeError: the commit removed rows, and the options do not allow that.
    """
    adds = [add for add in commit.adds if add.data_change]
    removed = next((remove for remove in commit.removes if remove.data_change), None)
    if removed is None:
        return adds
    match tolerance:
        case Tolerance.SKIP_COMMITS:
            return []
        case Tolerance.IGNORE_CHANGES:
            return adds
        case Tolerance.IGNORE_DELETES if not adds:
            return []
        case _:
            sufficient = [Tolerance.SKIP_COMMITS.value, Tolerance.IGNORE_CHANGES.value]
            if not adds:
                sufficient.append(Tolerance.IGNORE_DELETES.value)
            raise UnstreamableChangeError(
                table=table, version=commit.version, path=removed.path, options=sufficient
            )
