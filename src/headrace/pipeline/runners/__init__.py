"""Runners compute the views of a bundle: one on Spark, one on DataFusion.

A task for one view enters; its rows leave as files or are kept in memory, with a digest and plans.
"""
