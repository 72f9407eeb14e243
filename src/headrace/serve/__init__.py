"""Serving tables to other engines: Arrow Flight, HTTP, a C library, and a client in Python.

Requests in the wire form enter, from sockets or from C; the live files or rows of tables below
the allowed roots leave, as they are found, and an outcome that says whether that was all.
"""
