"""Digests of results, by which the results of two runs are compared.

Batches enter in the result's order; one small value leaves. It identifies the rows in any order
(`rows_digest`) and in this order (`order_digest`), and summarises numeric columns, so that results
that differ only by rounding can be recognised.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b, sha256

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.runs.row_hash import Lanes, row_hashes

_LANE = 1 << 64
_CHUNK_ROWS = 1 << 15


class NumberSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a column of floats or decimals; an empty one has no bounds."""

    nulls: int
    total: float | None
    """None if the sum is not finite."""
    least: float | None = None
    greatest: float | None = None

    def is_close(self, other: "NumberSummary", *, tolerance: float) -> bool:
        """Return whether two summaries are equal within a relative tolerance."""
        if self.nulls != other.nulls or (self.least is None) != (other.least is None):
            return False
        return all(
            a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=tolerance))
            for a, b in (
                (self.total, other.total),
                (self.least, other.least),
                (self.greatest, other.greatest),
            )
        )


class RowDigest(msgspec.Struct, frozen=True, kw_only=True):
    """The digest of a result."""

    rows: int
    rows_digest: str
    """Equal for equal rows in any order."""
    order_digest: str | None
    """Equal for equal rows in the same order; None if the runner returned no order."""
    exact_digest: str
    """As `rows_digest`, without columns of floats and decimals."""
    numbers: dict[str, NumberSummary] = {}
    """The summary of each column of floats or decimals."""
    nulls: dict[str, int] = {}
    """The number of nulls of each column that has any."""


class Digester:
    """Computes the digest of a result, batch by batch."""

    def __init__(self, schema: pa.Schema) -> None:
        """Start with no rows."""
        names = "\x1f".join(field.name.casefold() for field in schema)
        self._seed = int.from_bytes(blake2b(names.encode(), digest_size=8).digest())
        self._schema = schema
        self._exact = [i for i, field in enumerate(schema) if not _has_numbers(field.type)]
        self._numbers = [i for i, field in enumerate(schema) if _is_number(field.type)]
        self._in_order = sha256()
        self._parts: list[RowDigest] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch; the digest does not depend on how rows are divided into batches."""
        for start in range(0, batch.num_rows, _CHUNK_ROWS):
            piece = batch.slice(start, _CHUNK_ROWS)
            self._parts = [merge_digests([*self._parts, self._digest(piece)])]

    def finish(self) -> RowDigest:
        """Return the digest of all batches."""
        empty = pa.RecordBatch.from_pylist([], schema=self._schema)
        digest = merge_digests([*self._parts, self._digest(empty)])
        return msgspec.structs.replace(digest, order_digest=self._in_order.hexdigest())

    def _digest(self, batch: pa.RecordBatch) -> RowDigest:
        columns, names = batch.columns, self._schema.names
        hashes = row_hashes(columns, batch.num_rows, seed=self._seed)
        self._in_order.update(np.ascontiguousarray(hashes.T).tobytes())
        exact = hashes
        if len(self._exact) < len(columns):
            exact_columns = [columns[i] for i in self._exact]
            exact = row_hashes(exact_columns, batch.num_rows, seed=self._seed)
        return RowDigest(
            rows=batch.num_rows,
            rows_digest=_hex(_lane_sums(hashes)),
            order_digest=None,
            exact_digest=_hex(_lane_sums(exact)),
            numbers={names[i]: _summary(columns[i]) for i in self._numbers},
            nulls={names[i]: c.null_count for i, c in enumerate(columns) if c.null_count},
        )


def digest_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> RowDigest:
    """Return the digest of batches."""
    digester = Digester(schema)
    for batch in batches:
        digester.add(batch)
    return digester.finish()


def merge_digests(parts: Sequence[RowDigest]) -> RowDigest:
    """Merge the digests of the parts of one result; the order of rows is lost."""
    nulls: Counter[str] = Counter()
    for part in parts:
        nulls.update(part.nulls)
    return RowDigest(
        rows=sum(part.rows for part in parts),
        rows_digest=_hex_sum(part.rows_digest for part in parts),
        order_digest=None,
        exact_digest=_hex_sum(part.exact_digest for part in parts),
        numbers={
            name: _merge_summaries([part.numbers[name] for part in parts])
            for name in parts[0].numbers
        },
        nulls=dict(nulls),
    )


def _lane_sums(hashes: Lanes) -> tuple[int, int]:
    first, second = np.add.reduce(hashes, axis=1, dtype=np.uint64)
    return int(first), int(second)


def _hex(lanes: tuple[int, int]) -> str:
    return f"{lanes[0]:016x}{lanes[1]:016x}"


def _hex_sum(digests: Iterable[str]) -> str:
    first = second = 0
    for digest in digests:
        first += int(digest[:16], 16)
        second += int(digest[16:], 16)
    return _hex((first % _LANE, second % _LANE))


def _summary(column: pa.Array) -> NumberSummary:
    values = column.cast(pa.float64(), safe=False)
    bounds = pc.min_max(values)
    return NumberSummary(
        nulls=column.null_count,
        total=_finite(pc.sum(values, min_count=0).as_py()),
        least=_finite(bounds["min"].as_py()),
        greatest=_finite(bounds["max"].as_py()),
    )


def _merge_summaries(parts: Sequence[NumberSummary]) -> NumberSummary:
    least = [part.least for part in parts if part.least is not None]
    greatest = [part.greatest for part in parts if part.greatest is not None]
    return NumberSummary(
        nulls=sum(part.nulls for part in parts),
        total=_total([part.total for part in parts]),
        least=min(least, default=None),
        greatest=max(greatest, default=None),
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _total(totals: Sequence[float | None]) -> float | None:
    finite = [total for total in totals if total is not None]
    return _finite(sum(finite)) if len(finite) == len(totals) else None


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _has_numbers(kind: pa.DataType) -> bool:
    """Return whether a type contains floats or decimals, also nested."""
    return _is_number(kind) or any(_has_numbers(kind.field(i).type) for i in range(kind.num_fields))
