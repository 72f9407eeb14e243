"""Planning: turns the views of a project into view plans.

Views, pinned sources and settings enter; plans leave, each with its scan units, its skip key and
its lineage. Only schemas, file lists and statistics are read, no rows.
"""
