"""What replay decides with: the seen set, and file skipping by a predicate.

The keys and columns of a batch of files enter; a mask of the files to keep leaves.
"""
