"""Commits: the only way in which Headrace changes a Delta table.

Files that were written below a table enter as `Staged`; `Committed` or `Conflict` leaves. Only
`Staged` files can be discarded, and only those it lists itself. Once a commit has succeeded,
nothing here deletes a file that it references.
"""
