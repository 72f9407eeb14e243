"""Loops over bytes, written in C, that neither Arrow nor NumPy has; they run without the GIL.

Buffers enter. Buffers leave, or nothing if the input is unusual. Every function has a slower
fallback that handles all input, so a package built without a compiler returns the same results.
"""
