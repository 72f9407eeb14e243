"""All kernels, and how a session gets to know them."""

from headrace.pipeline.translation.kernels import (
    attempt,
    binary,
    bit,
    cast,
    collection,
    double,
    entry,
    gathered,
    generator,
    hashing,
    higher_order,
    interval,
    json,
    number,
    number_cast,
    number_text,
    pattern,
    subquery,
    text,
    time,
    time_format,
    time_part,
    time_text,
    time_zone,
    url,
    vector,
    word,
)
from headrace.pipeline.translation.kernels.body import register_kernels

KERNEL_MODULES = (
    *(attempt, binary, bit, cast, collection, double, entry, gathered, generator, hashing),
    *(higher_order, json, number, number_cast, number_text, pattern, subquery, text, time),
    *(url, vector, word),
    *(interval, time_format, time_part, time_text, time_zone),
)
"""Importing them declares their kernels."""

__all__ = ["KERNEL_MODULES", "register_kernels"]
