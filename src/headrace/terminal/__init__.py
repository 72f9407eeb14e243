"""What is drawn on an interactive terminal, for the command line and for Spark jobs.

Counts of work enter; a progress bar is drawn, or nothing if there is no terminal.
"""
