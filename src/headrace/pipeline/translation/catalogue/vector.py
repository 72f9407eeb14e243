"""Catalogue of functions of vectors, which are arrays of floats."""

import math
from collections.abc import Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Build, Entry, by_rule
from headrace.pipeline.translation.typed import Typed, call

_VECTOR = t.array_of(t.FLOAT)


def _of_two(which: str) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        if any(argument.type != _VECTOR for argument in arguments):
            return None
        return call("vector_pair", t.FLOAT, *arguments, parameters=(which,), can_fail=True)

    return build


def _of_degree(kernel: str, gives: pa.DataType) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        vector, *degrees = arguments
        degree = degrees[0].value if degrees else 2.0
        if vector.type != _VECTOR or any(d.type != t.FLOAT for d in degrees):
            return None
        if degree not in {1.0, 2.0, math.inf}:
            return None
        return call(kernel, gives, vector, parameters=(f"{degree:g}",))

    return build


VECTOR: list[Entry] = [
    *(
        by_rule(f"vector_{name}", "ARRAY ARRAY", t.FLOAT, "kernel vector_pair", _of_two(name))
        for name in ("inner_product", "cosine_similarity", "l2_distance")
    ),
    by_rule("vector_norm", "ARRAY [FLOATING!]", t.FLOAT, "kernel vector_norm",
            _of_degree("vector_norm", t.FLOAT)),
    by_rule("vector_normalize", "ARRAY [FLOATING!]", _VECTOR, "kernel vector_normalize",
            _of_degree("vector_normalize", _VECTOR)),
]  # fmt: skip
