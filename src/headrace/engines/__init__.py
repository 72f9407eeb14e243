"""The engines: each lowers the same plan nodes to executable form.

Plans enter; batches leave. `arrow` is embedded and the default.
"""
