"""Compares two results of a view as strictly as its tier requires.

The digests of both results enter and, if available, their rows; a difference in words leaves, or
None. Rows are read only if the digests differ and the tier has a tolerance.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.project.header import Tier
from headrace.pipeline.runs.row_digest import RowDigest

Rows = Callable[[], pa.Table]
"""Reads the rows of a result."""

_MAX_ROWS = 5_000_000


def compare_results(  # noqa: PLR0913  (two results, each as digest and rows, and how to compare them)
    then: RowDigest,
    now: RowDigest,
    *,
    tier: Tier,
    tolerance: float = 0.0,
    rows_then: Rows | None = None,
    rows_now: Rows | None = None,
) -> str | None:
    """Return how two results differ, in words; None if they are equal by the tier."""
    if then.rows != now.rows:
        return f"it returns {now.rows} rows and returned {then.rows}"
    match tier:
        case Tier.CANONICAL:
            if then.order_digest is None or now.order_digest is None:
                return (
                    "the order of its rows is unknown, since Spark does not preserve it in memory; "
                    "materialise it as staging or output"
                )
            has_same_order = then.order_digest == now.order_digest
            if not has_same_order and then.rows_digest == now.rows_digest:
                return "it returns the same rows in another order"
            return None if has_same_order else "it returns other rows"
        case Tier.STABLE_SET:
            return None if then.rows_digest == now.rows_digest else "it returns other rows"
        case Tier.BEST_EFFORT:
            return _compare_within_tolerance(then, now, tolerance, rows_then, rows_now)


def _compare_within_tolerance(
    then: RowDigest,
    now: RowDigest,
    tolerance: float,
    rows_then: Rows | None,
    rows_now: Rows | None,
) -> str | None:
    """Return how two results differ; floats and decimals are compared with a tolerance."""
    if then.rows_digest == now.rows_digest:
        return None
    if then.exact_digest != now.exact_digest:
        return "it returns other rows, also in columns that are not floats or decimals"
    if rows_then is not None and rows_now is not None and then.rows <= _MAX_ROWS:
        return compare_rows(rows_then(), rows_now(), tolerance=tolerance)
    for name, summary in then.numbers.items():
        summary_now = now.numbers.get(name)
        if summary_now is None or not summary.is_close(summary_now, tolerance=tolerance):
            return f"the numbers of column {name} are off by more than {tolerance:g}"
    return None


def compare_rows(then: pa.Table, now: pa.Table, *, tolerance: float) -> str | None:
    """Return how two sets of rows differ, with a relative tolerance for floats and decimals.

    Rows are sorted by the exact columns, then by the others, before they are compared.
    """
    if [*map(str.casefold, then.column_names)] != [*map(str.casefold, now.column_names)]:
        return f"its columns are {', '.join(now.column_names)}"
    if then.num_rows != now.num_rows:
        return f"it returns {now.num_rows} rows and returned {then.num_rows}"
    columns = zip(then.column_names, _sorted(then).columns, _sorted(now).columns, strict=True)
    for name, before, after in columns:
        if pa.types.is_float64(before.type) and pa.types.is_float64(after.type):
            if not _all_close(before, after, tolerance):
                return f"column {name} is off by more than {tolerance:g}"
        elif not before.equals(after.cast(before.type)):
            return f"column {name} has other values"
    return None


def _sorted(rows: pa.Table) -> pa.Table:
    plain = pa.table(
        [_as_float(column) for column in rows.columns],
        names=[f"c{index}" for index in range(rows.num_columns)],
    )
    exact = [f.name for f in plain.schema if _is_exact(f.type)]
    numbers = [f.name for f in plain.schema if pa.types.is_floating(f.type)]
    keys = [(name, "ascending") for name in (*exact, *numbers)]
    return plain.take(pc.sort_indices(plain, sort_keys=keys)) if keys else plain


def _as_float(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    is_number = pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return column.cast(pa.float64(), safe=False) if is_number else column


def _is_exact(kind: pa.DataType) -> bool:
    return not pa.types.is_floating(kind) and not pa.types.is_nested(kind)


def _all_close(before: pa.ChunkedArray, after: pa.ChunkedArray, tolerance: float) -> bool:
    if not before.is_null().equals(after.is_null()):
        return False
    magnitude = pc.max_element_wise(pc.abs(before), pc.abs(after))
    difference = pc.abs(pc.subtract(before, after))
    both_nan = pc.and_(pc.is_nan(before), pc.is_nan(after))
    close = pc.or_(pc.less_equal(difference, pc.multiply(magnitude, tolerance)), both_nan)
    is_close = pc.or_(close, pc.equal(before, after))
    return bool(pc.all(is_close, min_count=0).as_py())
