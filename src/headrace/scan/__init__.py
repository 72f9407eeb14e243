"""Phases composed into a lazy scan: the driver, and what a user iterates.

A first phase and an executor enter; live files leave, as they are found.
"""
