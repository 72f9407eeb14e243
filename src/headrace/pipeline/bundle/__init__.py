"""Bundles: a plan of a whole project, frozen, with the three hashes that stand for it.

Plans of views, pins and scan units enter; a value leaves that can be stored, compared and run
again elsewhere. What changed between two of them is told part by part.
"""
