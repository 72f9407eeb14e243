"""The distributed engine: leaves of a checkpoint are read by Spark, all else by the embedded one.

Leaves enter; they leave as tasks, each of which runs the embedded engine on a worker, so that an
answer is the same by construction. What comes back is batches and what the workers have counted.
"""
