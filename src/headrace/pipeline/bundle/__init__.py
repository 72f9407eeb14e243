"""Bundles: the frozen plan of a project.

Planned views and pinned sources enter; a content-addressed value leaves that can be stored, run,
replayed, and compared with another.
"""
