"""The statistics of data files: JSON text enters, the typed Arrow columns that are needed leave.

`decode` is the way in. `decoder` chooses between the compiled loop (`leaf_column`) and msgspec
(`leaf_row`), and `value` converts Python values to typed columns.
"""
