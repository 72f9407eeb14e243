"""The runner on Spark: views are run as their authors wrote them.

A Spark session enters; functions and views are known to it, and it tells what builders read.
"""
