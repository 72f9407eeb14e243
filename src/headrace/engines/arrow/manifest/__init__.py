"""Reading the manifests of a state.

Manifest files enter, with what their state says of them; adds leave as `ColumnBatch` values. Blocks
are pruned by their bounds, and entries hidden by tombstones are left out.
"""
