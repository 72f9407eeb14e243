"""Reads a few small columns of a Parquet checkpoint without Arrow.

A file enters; its protocol and metadata actions leave. Importing Arrow would take longer than
everything else that the first file of a table needs. Unusual files are left to Arrow: this reader
may give up, but must not guess.
"""
