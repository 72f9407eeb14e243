"""Avro files: bytes of a container enter, records, Arrow columns or blocks leave, and back.

It knows the container format, its codecs and the block index in the header; it reads no store.
Records are encoded by fastavro, and decoded by it one block at a time; columns of many blocks are
decoded by a compiled loop, with fastavro as the slower way that decides.
"""
