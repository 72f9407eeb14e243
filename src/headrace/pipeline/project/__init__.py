"""The files of a project: `headrace.toml`, views and functions.

A folder enters; checked, immutable values leave. Errors name the file and the key or position.
Nothing is planned here, and no table is opened.
"""
