"""Spans: half-open ranges of positions, as `STRUCT<bstart, bend>`.

A position is in a span if `bstart <= position < bend`. Null in either end makes a result null.
"""

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.functions.declaration import function

SPAN = pa.struct([("bstart", pa.int64()), ("bend", pa.int64())])


@function("BIGINT", "BIGINT", returns=SPAN)
def span_make(starts: pa.Array, ends: pa.Array) -> pa.Array:
    """The span from a start (inclusive) to an end (exclusive); null if either is null."""
    missing = pc.or_(pc.is_null(starts), pc.is_null(ends))
    return pa.StructArray.from_arrays([starts, ends], fields=list(SPAN), mask=missing)


@function(SPAN, returns="BIGINT")
def span_len(spans: pa.Array) -> pa.Array:
    """The length of a span: its end minus its start."""
    start, end = _ends(spans)
    return pc.subtract_checked(end, start)


@function(SPAN, SPAN, returns="BOOLEAN")
def span_overlaps(left: pa.Array, right: pa.Array) -> pa.Array:
    """Whether two spans share a position; adjacent spans do not."""
    (left_start, left_end), (right_start, right_end) = _ends(left), _ends(right)
    return pc.and_(pc.less(left_start, right_end), pc.less(right_start, left_end))


@function(SPAN, SPAN, returns="BOOLEAN")
def span_contains(outer: pa.Array, inner: pa.Array) -> pa.Array:
    """Whether the first span contains every position of the second; a span contains itself."""
    (outer_start, outer_end), (inner_start, inner_end) = _ends(outer), _ends(inner)
    return pc.and_(pc.less_equal(outer_start, inner_start), pc.less_equal(inner_end, outer_end))


@function("BIGINT", "BIGINT", "BIGINT", "BIGINT", returns="DOUBLE")
def interval_align_score(
    left_start: pa.Array, left_end: pa.Array, right_start: pa.Array, right_end: pa.Array
) -> pa.Array:
    """The overlap of two intervals: their intersection divided by their union.

    1.0 if they are equal, 0.0 if they are disjoint; null if an end is null, or both are empty.
    """
    overlap_start = pc.max_element_wise(left_start, right_start, skip_nulls=False)
    overlap_end = pc.min_element_wise(left_end, right_end, skip_nulls=False)
    shared = pc.max_element_wise(pc.subtract(overlap_end, overlap_start), 0, skip_nulls=False)
    lengths = pc.add(pc.subtract(left_end, left_start), pc.subtract(right_end, right_start))
    covered = pc.subtract(lengths, shared)
    empty = pc.less_equal(covered, 0)
    covered = pc.if_else(empty, pa.scalar(None, pa.int64()), covered)
    return pc.divide(shared.cast(pa.float64()), covered.cast(pa.float64()))


def _ends(spans: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the two ends; null where the span is null."""
    return pc.struct_field(spans, "bstart"), pc.struct_field(spans, "bend")
