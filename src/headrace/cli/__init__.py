"""The command line: one module per command, which parses, calls and renders.

Command-line arguments enter; text on standard output and an exit status leave.
"""
