"""The data types of a Delta log: actions, keys, schema, features, values.

JSON text and Parquet rows enter; typed, immutable values leave. Nothing here reads a file.
"""
