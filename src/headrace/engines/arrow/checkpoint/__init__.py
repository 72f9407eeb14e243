"""Reads the adds of Parquet checkpoints, skipping row groups and rows that cannot match.

Checkpoint files, a predicate and a projection enter; `ColumnBatch` values of adds leave. The
modules follow a row group: `footer` and `row_group` skip it by statistics, `group_judge` by its
partition values (`coded_map`, `partition_map`, `partition_verdicts`), and `leaf` reads the
remaining rows with `add_batches` and `text_column`.
"""
