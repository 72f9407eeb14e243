"""Kernels: Spark's functions over Arrow arrays.

Arrays enter, and an array of the same length leaves. Constant options are parameters of the call,
encoded in the kernel's name.
"""
