"""Sources: what views read that no view produces.

The sources of a project's manifest enter; pinned sources leave: each has one version, a schema,
and the files that a predicate cannot rule out.
"""
