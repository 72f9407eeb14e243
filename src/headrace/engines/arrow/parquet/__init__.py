"""Parquet without Arrow, for a few small columns of a checkpoint.

A file enters, the one protocol and the one metadata action leave. Importing Arrow would take
longer than everything else that the first file of a table needs. Whatever is unusual is left
to Arrow: a reader that gives up is fine here, one that guesses is not.
"""
