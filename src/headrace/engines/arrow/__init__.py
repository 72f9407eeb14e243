"""The embedded engine: JSON by msgspec, Parquet by Arrow.

Plans enter; batches leave. Commits are read without Arrow, so that the first files of a table are
returned before anything heavy is imported; the columnar part is imported when a plan needs it.
"""
