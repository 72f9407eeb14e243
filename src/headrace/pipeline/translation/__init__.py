"""Translation: a query of Spark SQL enters, a query of DataFusion's with Spark's meaning leaves.

Every operator, function, cast and literal form comes from a closed catalogue, looked up by name
and argument types. What the catalogue does not have is refused, with its place in the text.
"""
