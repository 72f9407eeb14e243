"""Maintenance of a table's state: the writer, compaction, clean-up and the SQL commands.

Takes a store with a log, and files to add and remove. Writes a new state, and reports what it
wrote, copied and deleted. One put-if-absent commits a state; nothing that a retained state
references is ever deleted.
"""
