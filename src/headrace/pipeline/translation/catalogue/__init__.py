"""The catalogue: Spark functions that DataFusion computes identically, by argument types.

Each entry names a function, the argument types that it takes, and how to build its DataFusion
expression. Entries are data: the reference in the documentation is generated from them.
"""
