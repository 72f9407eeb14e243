"""The DataFusion runner: runs the same bundles in process, without a cluster or a JVM.

It runs stored Substrait plans, and falls back to translated SQL where there is no plan.
"""
