"""Checkpoints: what keeps a log quick to read. A table is whole without them."""

from deltalake import DeltaTable

_COMMITS_A_CHECKPOINT = 10


def write_checkpoint_if_due(table: str, *, version: int) -> str | None:
    """Write a checkpoint every few commits; returns why that failed, None if it did not."""
    if version == 0 or version % _COMMITS_A_CHECKPOINT:
        return None
    try:
        DeltaTable(table, version=version).create_checkpoint()
    except Exception as error:  # noqa: BLE001  (nothing that goes wrong here harms the table)
        return f"{type(error).__name__}: {error}"
    return None
