"""What one replay has counted. Counts of several replays add up; sizes and times do not."""

import msgspec


class Counts(msgspec.Struct, kw_only=True):
    """How much was looked at, dropped and given out, and what reading it took."""

    total_metadata_rows: int = 0
    """Action rows that were processed: those of commits, and those of checkpoints."""
    rows_from_json: int = 0
    """Rows of commits, compaction files and JSON checkpoints that were replayed; each once, though
    a forward scan reads commits twice. A manifest that only names sidecars is not replayed: its
    rows, be they JSON or Parquet, are not counted."""
    rows_from_checkpoint: int = 0
    """Rows of Parquet checkpoints and sidecars, by row groups: a row group counts when it is taken
    for reading, or when it is ruled out in its turn. Threads take some ahead of the caller."""
    non_file_action_rows: int = 0
    """Counted rows that are neither an add nor a remove."""
    rows_filtered_by_partition_pruning: int = 0
    """Adds that their partition values rule out."""
    rows_filtered_by_data_skipping: int = 0
    """Adds that their statistics rule out. Where the statistics of a whole row group rule it out,
    all its adds count here: their partition values are then not read."""
    adds_emitted: int = 0
    """Adds that were given to the caller."""
    removes_processed: int = 0
    """Removes of commits that entered the seen set; once, as the rows that hold them."""
    commits_scanned: int = 0
    """Commits and compaction files that were opened, as often as they were."""
    files_read: int = 0
    """Files of the log that were read, each once; of a checkpoint file the footer is enough, also
    one that is remembered."""
    requests: int = 0
    """Reads that were asked of the store."""
    bytes_read: int = 0
    """Bytes that came from the store."""
    footer_cache_hits: int = 0
    """Footers of checkpoint files that were remembered, and not read again."""
    listing_cache_hits: int = 0
    """Listings that were remembered: nothing of the log was read for them."""
    row_groups_skipped: int = 0
    """Row groups that were ruled out without reading an add."""
    retries: int = 0
    """Reads that were tried again."""
    fallbacks: int = 0
    """Times that another way had to be taken: an older base, another strategy."""
    spilled_keys: int = 0
    """Keys of the seen set that went to disk; once, though a forward scan fills the set twice."""

    def add(self, other: "Counts") -> None:
        """Take in the counts of another replay, such as a worker's."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def counted(count: int, noun: str) -> str:
    """So many of something, for people: "1 file", "2,000 files"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
