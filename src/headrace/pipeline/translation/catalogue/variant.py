"""Catalogue of VARIANT functions; a variant is never a column of a view."""

import json
from collections.abc import Sequence

from headrace.pipeline.arrow_ddl import parse_type
from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import (
    Build,
    Entry,
    by_kernel,
    by_native,
    by_rule,
)
from headrace.pipeline.translation.catalogue.json import json_path
from headrace.pipeline.translation.catalogue.over import AggregateEntry, Over, gather
from headrace.pipeline.translation.interval_type import VARIANT
from headrace.pipeline.translation.kernels.json import WILDCARD
from headrace.pipeline.translation.typed import Typed, call

_CAST_TO = (t.INT, t.LONG, t.DOUBLE, t.STRING, t.BOOLEAN)


def _parse(mode: str) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed:
        return call("parse_variant", VARIANT, arguments[0], parameters=(mode,), can_fail=True)

    return build


def _get(mode: str) -> Build:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        variant, written, *kinds = arguments
        path = json_path(written.value)
        if path is None or WILDCARD in path:
            return None
        kind, form = VARIANT, "variant"
        if kinds:
            try:
                kind, form = parse_type(kinds[0].value), "cast"
            except (ValueError, KeyError):
                return None
            if kind not in _CAST_TO:
                return None
        parameters = (json.dumps(path), mode, form)
        return call("variant_get", kind, variant, parameters=parameters, can_fail=True)

    return build


def _schema_of_all(_: Casts, over: Over, arguments: Sequence[Typed]) -> Typed | None:
    (variant,) = arguments
    if variant.type != VARIANT or over.distinct:
        return None
    values = gather(over, Typed(variant.text, t.STRING, can_fail=variant.can_fail))
    return None if values is None else call("variant_schemas", t.STRING, values, can_fail=True)


VARIANTS: list[Entry] = [
    by_rule("parse_json", "STRING", VARIANT, "kernel parse_variant", _parse("raise")),
    by_rule("try_parse_json", "STRING", VARIANT, "kernel parse_variant", _parse("try")),
    by_native("is_valid_variant", "VARIANT", t.BOOLEAN, "CASE WHEN {0} IS NOT NULL THEN TRUE END"),
    by_kernel("is_variant_null", "VARIANT", t.BOOLEAN, "is_variant_null", can_fail=True),
    by_rule("variant_get", "VARIANT STRING! [STRING!]", VARIANT, "kernel variant_get",
            _get("raise")),
    by_rule("try_variant_get", "VARIANT STRING! [STRING!]", VARIANT, "kernel variant_get",
            _get("try")),
    by_kernel("schema_of_variant", "VARIANT", t.STRING, "variant_schema", can_fail=True),
]  # fmt: skip
VARIANT_AGGREGATES = [
    AggregateEntry(
        name="schema_of_variant_agg",
        takes="VARIANT",
        how="kernel variant_schemas",
        build=_schema_of_all,
    )
]
