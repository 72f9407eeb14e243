"""The predicate language: SQL text enters, a tree of small values leaves, bound to a schema.

The evaluator takes such a tree and what is known about columns, and answers in three values.
"""
