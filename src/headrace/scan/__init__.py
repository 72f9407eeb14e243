"""Lazy scans: the driver that runs phases, and the iterables that users see.

A first phase and an executor enter; live files leave as they are found.
"""
