"""Maintenance of a table's state: the writer, compaction, clean-up and the SQL commands.

A store with a log, and files that come and go, enter; a new state leaves, with a report of what was
written, copied and deleted. A state is committed by one put-if-absent; nothing that a retained
state references is ever deleted.
"""
