"""Object storage: one store interface and its implementations.

A path relative to the table's root enters; listings, bytes and open files leave. Paths are
taken literally: the caller has already percent-decoded them.
"""
