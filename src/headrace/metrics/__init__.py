"""What happened on the way: events, and where they are reported.

Phases and scans hand over events; reporters turn them into log lines, or numbers.
"""
