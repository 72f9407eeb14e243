"""The catalogue: Spark functions that DataFusion computes identically, by argument types.

It is data: the reference in the documentation is generated from its entries.
"""
