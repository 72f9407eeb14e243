"""Outputs: Parquet files that a runner has written become a version of a Delta table.

A folder of files and what the view's header asks for enter; one atomic commit leaves, with
statistics, and with a note of the run that made it. Nothing is half-written: files without a
commit belong to no version, and are discarded.
"""
