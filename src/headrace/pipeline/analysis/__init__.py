"""Analysis: what each view computes and reads, derived from schemas alone.

Views, catalogs and the schemas of sources enter; dependency graph, Substrait plans, lineage,
lint findings and the filters that may prune files leave. No data is read.
"""
