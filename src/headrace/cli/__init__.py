"""The command line: one file a command, which parses, calls and renders.

Words of a user enter; lines on standard output, and an exit status, leave.
"""
