"""The page of a project: its graph, and what is known about each view and source.

A bundle and the records of runs enter; HTML leaves (a page, or a picture for notebooks), or
Mermaid text.
"""
