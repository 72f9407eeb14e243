"""Catalogue of XPath functions: simple paths over XML."""

from collections.abc import Sequence

import pyarrow as pa

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.entry import Entry, by_rule
from headrace.pipeline.translation.kernels.xpath import parse_path
from headrace.pipeline.translation.typed import Typed, call

_GIVES = {
    "xpath": t.array_of(t.STRING), "xpath_boolean": t.BOOLEAN, "xpath_string": t.STRING,
    "xpath_double": t.DOUBLE, "xpath_number": t.DOUBLE, "xpath_float": t.FLOAT,
    "xpath_short": t.SHORT, "xpath_int": t.INT, "xpath_long": t.LONG,
}  # fmt: skip


def _entry(name: str, gives: pa.DataType) -> Entry:
    def build(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
        xml, written = arguments
        path = parse_path(written.value)
        takes_number = name not in {"xpath", "xpath_string"}
        if path is None or (path.function and not takes_number):
            return None
        return call("xpath", gives, xml, parameters=(written.value,), can_fail=True)

    return by_rule(name, "STRING STRING!", gives, "kernel xpath", build)


XPATH: list[Entry] = [_entry(name, gives) for name, gives in _GIVES.items()]
