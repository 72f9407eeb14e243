"""Runners: each runs the same bundles on its own engine.

A bundle and a session enter; rows, tables and run records leave. Spark is imported only here.
"""
