"""Files to rows: deletion vectors, column mapping, type widening, the exact filter.

Live files enter as a scan finds them; record batches of the table's rows leave.
"""
