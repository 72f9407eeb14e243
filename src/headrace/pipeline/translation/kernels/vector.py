"""Kernels for vectors: arrays of floats, computed as doubles in Spark's order of addition.

Spark sums the products of eight elements, then adds that to the total; the remaining elements are
added one by one. A vector with a null returns null.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.pipeline.translation.kernel import KernelCall, kernel
from headrace.pipeline.translation.kernels.collection import SparkIndexError

_BLOCK = 8


def _rows(vectors: pa.Array) -> list[Any]:
    """Return each vector as doubles; None if it is null or has a null."""
    plain = vectors.to_pylist()
    return [None if row is None or None in row else np.array(row, np.float64) for row in plain]


def _total(parts: Any) -> float:
    """Return a sum, added in Spark's order."""
    whole = len(parts) // _BLOCK * _BLOCK
    blocks = np.cumsum(parts[:whole].reshape(-1, _BLOCK), axis=1)[:, -1:].ravel()
    steps = np.concatenate(([0.0], blocks, parts[whole:]))
    return float(np.cumsum(steps)[-1])


def _inner_product(left: Any, right: Any) -> float | None:
    return _total(left * right)


def _cosine_similarity(left: Any, right: Any) -> float | None:
    below = float(np.sqrt(_total(left * left) * _total(right * right)))
    return None if below == 0.0 else _total(left * right) / below


def _l2_distance(left: Any, right: Any) -> float | None:
    return float(np.sqrt(_total((left - right) * (left - right))))


_OF_TWO: dict[str, Callable[[Any, Any], float | None]] = {
    "inner_product": _inner_product,
    "cosine_similarity": _cosine_similarity,
    "l2_distance": _l2_distance,
}


@kernel
def vector_pair(call: KernelCall, left: pa.Array, right: pa.Array) -> pa.Array:
    """Compare two vectors of equal length; the parameter says how."""
    compare = _OF_TWO[call.parameters[0]]
    lengths = zip(left.to_pylist(), right.to_pylist(), strict=True)
    if any(a is not None and b is not None and len(a) != len(b) for a, b in lengths):
        raise SparkIndexError("the vectors have different lengths")
    with np.errstate(all="ignore"):
        results = [
            None if a is None or b is None else compare(a, b)
            for a, b in zip(_rows(left), _rows(right), strict=True)
        ]
        return _floats(results)


def _floats(results: list[Any]) -> pa.Array:
    absent = np.array([result is None for result in results], bool)
    doubles = np.array([0.0 if result is None else result for result in results], np.float64)
    return pa.array(doubles.astype(np.float32), mask=absent)


def _norm(vector: Any, degree: str) -> float:
    if degree == "inf":
        return float(np.max(np.abs(vector), initial=0.0))
    return _total(np.abs(vector)) if degree == "1" else float(np.sqrt(_total(vector * vector)))


@kernel
def vector_norm(call: KernelCall, vectors: pa.Array) -> pa.Array:
    """Return the norm of a vector; the parameter is the degree."""
    degree = call.parameters[0]
    with np.errstate(all="ignore"):
        return _floats([None if row is None else _norm(row, degree) for row in _rows(vectors)])


@kernel
def vector_normalize(call: KernelCall, vectors: pa.Array) -> pa.Array:
    """Return a vector divided by its norm; null if the norm is zero."""
    degree = call.parameters[0]
    results: list[Any] = []
    with np.errstate(all="ignore"):
        for row in _rows(vectors):
            length = 0.0 if row is None else _norm(row, degree)
            if row is None or (length == 0.0 and len(row)):
                results.append(None)
            else:
                results.append((row / length).astype(np.float32).tolist() if len(row) else [])
    return pa.array(results, call.gives)
