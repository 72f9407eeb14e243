"""All kernels, and how a session gets to know them."""

from collections.abc import Iterable

from datafusion import SessionContext, udf

from headrace.pipeline.translation.kernel import parse_kernel
from headrace.pipeline.translation.kernels import cast, collection, number, subquery, text, time

KERNEL_MODULES = (cast, collection, number, subquery, text, time)
"""Importing them declares their kernels."""


def register_kernels(context: SessionContext, names: Iterable[str]) -> None:
    """Make kernels known to a session."""
    for name in names:
        call = parse_kernel(name)
        context.register_udf(udf(call.compute, list(call.takes), call.gives, "immutable", name))
