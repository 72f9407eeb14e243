"""Read and write Avro files: container bytes enter; records, Arrow columns or blocks leave.

This package handles the container format, its codecs and the block index in the header; it does no
I/O. fastavro encodes records and decodes single blocks. A compiled loop decodes columns of many
blocks and falls back to fastavro, whose result is authoritative.
"""
