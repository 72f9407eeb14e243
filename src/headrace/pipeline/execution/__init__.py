"""Execution: a project's bundle is run, view by view, and everything is written down.

A project and what the caller asks for enter; a record of the run leaves, and tables do. What may
be skipped is skipped, what fails stops only what reads it, and a run that dies leaves nothing
half-written.
"""
