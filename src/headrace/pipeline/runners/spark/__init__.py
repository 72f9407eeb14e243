"""The Spark runner: runs views as their authors wrote them.

A Spark session enters; functions and views are registered in it, and it reports what builders read.
"""
