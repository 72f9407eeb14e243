"""A project as its author wrote it: `headrace.toml`, views, functions.

A folder enters; frozen values leave, each checked, with errors that name the file and the key.
Nothing is planned here, and no table is opened.
"""
