"""The counters of one replay, as a plain value that can be pickled.

Counters of several replays add up; sizes and times do not.
"""

import msgspec


class Counts(msgspec.Struct, kw_only=True):
    """How much a replay read, filtered out and emitted, and what the reads cost."""

    total_metadata_rows: int = 0
    """Action rows processed, from commits and from checkpoints."""
    rows_from_json: int = 0
    """Replayed rows of commits, compaction files and JSON checkpoints. Each row counts once, even
    though a forward scan reads commits twice. The rows of a manifest that only lists sidecars are
    not replayed and not counted."""
    rows_from_checkpoint: int = 0
    """Rows of Parquet checkpoints and sidecars, counted by row group when the row group is read or
    skipped. Worker threads read ahead of the caller."""
    non_file_action_rows: int = 0
    """Rows that are neither an add nor a remove."""
    rows_filtered_by_partition_pruning: int = 0
    """Adds skipped by their partition values."""
    rows_filtered_by_data_skipping: int = 0
    """Adds skipped by their statistics. When the statistics of a row group skip it as a whole, all
    its adds count here, because their partition values are not read."""
    adds_emitted: int = 0
    """Adds emitted to the caller."""
    removes_processed: int = 0
    """Removes of commits added to the seen set; each counts once, like the row that holds it."""
    commits_scanned: int = 0
    """Commits and compaction files opened, counted each time they are opened."""
    files_read: int = 0
    """Files of the log that were read, each counted once. A checkpoint file counts when its footer
    is used, even a cached one."""
    requests: int = 0
    """Requests sent to the store."""
    bytes_read: int = 0
    """Bytes read from the store."""
    footer_cache_hits: int = 0
    """Checkpoint footers found in the cache."""
    commit_cache_hits: int = 0
    """Commits of a remote store found in the cache."""
    listing_cache_hits: int = 0
    """File lists found in the cache: nothing of the log was read for them."""
    row_groups_skipped: int = 0
    """Row groups skipped without reading an add."""
    chunks_decoded: int = 0
    """Column chunks of data files that the compiled decoder handled."""
    chunks_left_to_arrow: int = 0
    """Column chunks of data files that Arrow decoded instead: of remote files, nested columns, row
    groups with few rows, unusual encodings and damaged pages; all of them without the compiled
    library."""
    manifests_read: int = 0
    """Manifests of a state that were read, after pruning."""
    manifest_entries_read: int = 0
    """Entries of those manifests, without the blocks that were skipped."""
    retries: int = 0
    """Reads that were retried."""
    throttles: int = 0
    """Reads that were retried because the store throttled them."""
    fallbacks: int = 0
    """How often a replay fell back to an older base or to another strategy."""
    spilled_keys: int = 0
    """Keys of the seen set spilled to disk; each once, although a forward scan fills it twice."""

    def add(self, other: "Counts") -> None:
        """Add the counts of another replay, such as a worker's."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: "1 file", "2,000 files"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
