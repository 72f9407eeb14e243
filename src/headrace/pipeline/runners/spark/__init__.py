"""The Spark runner: runs views as their authors wrote them.

A session and tasks enter; rows and plans leave. Before a run, Spark also checks the SQL of views
and analyses what builders read.
"""
