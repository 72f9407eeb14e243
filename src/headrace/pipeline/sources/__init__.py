"""Sources: what views read that no view makes.

The specification of a source enters; a pin, a schema and pruned sets of files leave.
"""
