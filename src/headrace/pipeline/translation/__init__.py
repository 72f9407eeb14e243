"""Translation: Spark SQL enters, DataFusion SQL with Spark's semantics leaves.

Every operator, function, cast and literal form comes from a closed catalogue, looked up by name and
argument types. What the catalogue lacks is refused, with its position in the text.
"""
