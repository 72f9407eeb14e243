"""The catalogue: each function of Spark's that DataFusion computes alike, by argument types.

It is data: `entries` gives every row, from which the reference in the documentation is written.
"""
