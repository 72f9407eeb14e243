"""Write checkpoints, which keep a log fast to read. A table is complete without them.

A table and the version just committed enter; a checkpoint is written by deltalake if one is due.
"""

from collections.abc import Mapping
from typing import Any

from deltalake import DeltaTable

from headrace.storage.location import scheme_of
from headrace.storage.peer_option import deltalake_options

_COMMITS_A_CHECKPOINT = 10


def write_checkpoint_if_due(
    table: str, *, version: int, options: Mapping[str, Any] | None = None
) -> str | None:
    """Write a checkpoint if the version is due for one; return the reason if that fails."""
    if version == 0 or version % _COMMITS_A_CHECKPOINT:
        return None
    try:
        write_checkpoint(table, version=version, options=options)
    except Exception as error:  # noqa: BLE001  (nothing that goes wrong here harms the table)
        # The error text of a remote store's client may contain a signature.
        reason = f": {error}" if scheme_of(table) == "file" else ""
        return f"{type(error).__name__}{reason}"
    return None


def write_checkpoint(
    table: str, *, version: int | None = None, options: Mapping[str, Any] | None = None
) -> None:
    """Write a checkpoint of a version, by default the newest.

    Raises:
        DeltaError: deltalake cannot write it.
        InvalidArgumentError, CredentialError: deltalake cannot use the options.
    """
    opened = DeltaTable(table, version=version, storage_options=deltalake_options(table, options))
    opened.create_checkpoint()
