"""The page: a picture of a project that anyone can open, offline.

Planned views, pins and what runs told of them enter; one HTML file leaves, or a picture for a
notebook, or Mermaid text. Everything is laid out and escaped here; the page's own script only
shows and hides.
"""
