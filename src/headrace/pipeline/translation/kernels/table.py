"""All kernels, and how to register them in a session."""

from headrace.pipeline.translation.kernels import (
    attempt,
    binary,
    bit,
    cast,
    collection,
    decimal_number,
    decimal_sum,
    double,
    entry,
    evaluation,
    gathered,
    generator,
    hashing,
    higher_order,
    interval,
    json,
    moment,
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
    variant,
    vector,
    word,
    xpath,
)
from headrace.pipeline.translation.kernels.body import register_kernels

KERNEL_MODULES = (
    *(attempt, binary, bit, cast, collection, decimal_number, decimal_sum, double, entry),
    *(evaluation, gathered, generator, hashing, higher_order, interval, json, moment, number),
    *(number_cast, number_text, pattern, subquery, text, time, time_format, time_part, time_text),
    *(time_zone, url, variant, vector, word, xpath),
)
"""Importing these modules registers their kernels."""

__all__ = ["KERNEL_MODULES", "register_kernels"]
