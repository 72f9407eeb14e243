"""The log by its file names: a listing enters, a segment (a base and the commits to replay) leaves.

Nothing here reads a file. Each other dialect of a log has its own module.
"""
