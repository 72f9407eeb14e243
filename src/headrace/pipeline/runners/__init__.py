"""Runners: each runs the same bundles on an engine of its own.

A bundle and a session enter; rows, tables and records of runs leave. Only here is Spark imported.
"""
