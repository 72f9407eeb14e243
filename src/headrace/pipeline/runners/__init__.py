"""Runners: Spark and DataFusion, each of which computes the views of a bundle.

A task for one view enters; its rows leave as files or are kept in memory, with a digest and plans.
"""
