"""Rows for other libraries: pyarrow datasets, Polars, DuckDB.

The live files of a snapshot and the row reader enter; objects that those libraries query leave.
"""
