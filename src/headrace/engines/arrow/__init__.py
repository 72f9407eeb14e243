"""The embedded engine: JSON by msgspec, Parquet by Arrow.

Commits are read without Arrow, so that the first files of a table can be given before
anything heavy is imported; the columnar half is loaded when a plan first needs it.
"""
