"""Outputs: Parquet files that a runner has written become a version of a Delta table.

A folder of files and the header of a view enter; one atomic commit leaves, with statistics and a
note about the run that made it. Readers never see a part of it: until the commit, no version
references the files, and if there is no commit, they are deleted.
"""
