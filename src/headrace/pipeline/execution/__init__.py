"""Execution: runs a project's bundle, view by view, and records what happened.

A project and a request enter; tables and the record of the run leave. Unchanged views are skipped,
a view that fails blocks only its readers, and a run that dies leaves nothing half-written.
"""
