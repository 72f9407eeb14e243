"""The distributed engine: Spark reads the leaves of a checkpoint, the embedded engine all else.

Leaves enter and are divided into tasks. Each task runs the embedded engine on a worker, so that
the results are the same by construction. Batches leave, with the counts of the workers.
"""
