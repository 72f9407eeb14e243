"""The seen set and file skipping, which decide the files that a replay keeps.

The keys and columns of a batch of files enter; a mask of the files to keep leaves.
"""
