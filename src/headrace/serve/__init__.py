"""Serves tables to other engines over Arrow Flight, HTTP and a C library, with a Python client.

Requests in the wire format enter, from sockets or from C. The live files or rows of tables below
the allowed roots leave as soon as they are read, followed by an outcome that reports whether the
answer is complete.
"""
