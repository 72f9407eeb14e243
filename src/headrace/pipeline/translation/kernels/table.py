"""All kernels, and how a session gets to know them."""

from collections.abc import Iterable

from datafusion import SessionContext, udf

from headrace.pipeline.translation.kernel import parse_kernel
from headrace.pipeline.translation.kernels import (
    attempt,
    binary,
    bit,
    cast,
    collection,
    hashing,
    json,
    number,
    number_cast,
    number_text,
    pattern,
    subquery,
    text,
    time,
    url,
    word,
)

KERNEL_MODULES = (
    *(attempt, binary, bit, cast, collection, hashing, json),
    *(number, number_cast, number_text, pattern, subquery, text, time, url, word),
)
"""Importing them declares their kernels."""


def register_kernels(context: SessionContext, names: Iterable[str]) -> None:
    """Make kernels known to a session."""
    for name in names:
        call = parse_kernel(name)
        context.register_udf(udf(call.compute, list(call.takes), call.gives, "immutable", name))
