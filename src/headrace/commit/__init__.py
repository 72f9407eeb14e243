"""The commit room: the one way in which Headrace changes a Delta table.

Files that an engine wrote below a table enter as `Staged`; `Committed` or `Conflict` leaves. Only
`Staged` can be discarded, and only by the names it lists itself; once a commit stands, nothing
here deletes a file that it names.
"""
