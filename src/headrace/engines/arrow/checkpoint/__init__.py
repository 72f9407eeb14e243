"""Reading the adds of Parquet checkpoints: which row groups, which rows, and their columns.

Files of a checkpoint and what is wanted of them enter; `ColumnBatch` values of adds leave. The
modules follow a row group on its way: `footer` and `row_group` rule it out by statistics,
`group_judge` by its partition values (`coded_map`, `partition_map`, `partition_verdicts`), and
`leaf` reads what is left with `add_batches` and `text_column`.
"""
