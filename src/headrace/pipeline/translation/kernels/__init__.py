"""Spark's functions over Arrow arrays: arrays enter, an array of the same length leaves."""
