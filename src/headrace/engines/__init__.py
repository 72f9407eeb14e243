"""Engines: each lowers the same plan nodes to something that runs.

Plans enter; batches leave. `arrow` is embedded and the default.
"""
