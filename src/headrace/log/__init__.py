"""The Delta log as names: a listing enters, a segment (what to replay, from which base) leaves.

Pure: nothing here reads a file. Other dialects of a log get a module of their own.
"""
