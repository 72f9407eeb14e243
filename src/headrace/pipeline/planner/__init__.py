"""The planner: views, pinned sources and functions enter; the plans of all views leave.

It puts the parts of `planning` together, view by view, and adds what only the whole graph can
tell: what is read through other views, keys, fingerprints.
"""
