"""The runner on DataFusion: the same bundles, embedded, without a cluster or a JVM.

Stored Substrait plans are run first, translated SQL where there is none.
"""
