"""Reads the manifests of a state.

Manifest files and their descriptions in the state enter; adds leave as `ColumnBatch` values.
Blocks are pruned by their bounds, and entries hidden by tombstones are dropped.
"""
