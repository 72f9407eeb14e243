"""Plans how to read the files of a checkpoint: a node for JSON, or one for Parquet."""

from headrace.log.checkpoint import Checkpoint
from headrace.log.name import CheckpointKind
from headrace.plan.node import Node, ScanJson, ScanParquet
from headrace.protocol.log_file import LogFile


def scan_checkpoint(checkpoint: Checkpoint, *, columns: tuple[str, ...]) -> Node:
    """Read some columns from all the checkpoint's own files."""
    return scan_files(checkpoint.files, columns=columns)


def scan_files(files: tuple[LogFile, ...], *, columns: tuple[str, ...]) -> Node:
    """Read some columns from files of one format."""
    if files[0].path.endswith(".json"):
        if any(column.startswith("add.") for column in columns):
            # Tombstones distinguish file actions from others.
            columns = (*columns, "remove.path")
        return ScanJson(files=files, columns=columns)
    return ScanParquet(files=files, columns=columns)


def may_have_sidecars(checkpoint: Checkpoint) -> bool:
    """Whether its files may name sidecars: only a multi-part checkpoint is certainly version 1."""
    return checkpoint.kind is not CheckpointKind.MULTI_PART
