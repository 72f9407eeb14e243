"""Where bytes come from: one object-store port, and the stores behind it.

A path relative to the table's root enters; listings, bytes and open files leave. Paths are
taken literally: whoever asks has percent-decoded them.
"""
