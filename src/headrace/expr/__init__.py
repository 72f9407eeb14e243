"""The predicate language: SQL text enters, a tree of small values bound to a schema leaves.

The evaluators take such a tree with column bounds or values and return three-valued results.
"""
