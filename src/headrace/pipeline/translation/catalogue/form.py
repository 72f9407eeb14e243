"""Catalogue of conditional forms and predicates that are written as functions."""

from collections.abc import Sequence

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.cast import Casts
from headrace.pipeline.translation.catalogue.collection import cast_to_common
from headrace.pipeline.translation.catalogue.entry import (
    Build,
    Entry,
    by_native,
    by_rule,
    first_type,
)
from headrace.pipeline.translation.evaluation import in_order
from headrace.pipeline.translation.operator import compare
from headrace.pipeline.translation.typed import (
    Typed,
    call,
    case,
    is_known_present,
    literal_text,
    null_of,
    null_test,
    present,
)


def coalesce(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Compile the first value that is not null."""
    values = cast_to_common(casts, arguments)
    if values is None:
        return None
    if values[0].type == t.VOID:
        return null_of(t.VOID)
    *tests, last = values
    if not tests:
        return Typed(last.text, last.type, can_fail=last.can_fail)
    branches = ((f"{v.text} IS NOT NULL", v.text) for v in tests)
    fails = any(v.can_fail for v in values)
    chosen = case(last.type, *branches, default=last.text, can_fail=fails)
    return present(chosen) if any(map(is_known_present, values)) else chosen


def _null_if(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    sides = cast_to_common(casts, arguments)
    if sides is None or t.has_float(sides[0].type) or not t.is_orderable(sides[0].type):
        return None
    left, right = in_order(*sides)
    value, fails = arguments[0], left.can_fail or right.can_fail
    equal = f"{left.text} = {right.text}"
    return case(value.type, (equal, "NULL"), default=value.text, can_fail=fails)


def _if(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    test, *branches = arguments
    values = cast_to_common(casts, branches)
    if values is None or values[0].type == t.VOID:
        return None
    yes, no = values
    if test.can_fail and yes.text == no.text:  # Spark may omit the condition
        return None
    fails = any(a.can_fail for a in arguments)
    chosen = case(yes.type, (test.text, yes.text), default=no.text, can_fail=fails)
    return present(chosen) if all(map(is_known_present, values)) else chosen


def _nvl2(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    test, *branches = arguments
    return _if(casts, [null_test(test, negated=True), *branches])


def _extreme(name: str) -> Build:
    def build(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
        values = cast_to_common(casts, arguments)
        if values is None or len(values) < 2 or not t.is_orderable(values[0].type):  # noqa: PLR2004
            return None
        kind = values[0].type
        if t.is_float(kind):
            values = [call("normal", kind, value) for value in values]
        texts = ", ".join(value.text for value in values)
        return Typed(f"{name}({texts})", kind, can_fail=any(v.can_fail for v in values))

    return build


def _equal_null(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    return compare(casts, "<=>", *arguments)


def _decode(casts: Casts, arguments: Sequence[Typed]) -> Typed | None:
    """Compile the result for the first key that equals the value; nulls are equal."""
    value, *cases = arguments
    default = [cases.pop()] if len(cases) % 2 else []
    keys, results = cases[::2], cases[1::2]
    tests = [compare(casts, "<=>", value, key) for key in keys]
    values = cast_to_common(casts, [*results, *default])
    if values is None or values[0].type == t.VOID or None in tests:
        return None
    if not default and values[0].type != t.STRING:
        return None  # Spark's own default is a null string, which changes the type
    branches = [
        (test.text, shown.text) for test, shown in zip(filter(None, tests), values, strict=False)
    ]
    last = values[-1].text if default else None
    fails = any(part.can_fail for part in arguments)
    return case(values[0].type, *branches, default=last, can_fail=fails)


def _type_name(_: Casts, arguments: Sequence[Typed]) -> Typed | None:
    kind = arguments[0].type
    text = t.type_text(kind)
    return None if "STRUCT" in text else literal_text(text.casefold().replace(" ", ""))


FORM: list[Entry] = [
    by_rule("coalesce", "ANY...", first_type, "CASE", coalesce),
    *(by_rule(name, "ANY ANY", first_type, "CASE", coalesce) for name in ("ifnull", "nvl")),
    by_rule("nvl2", "ANY ANY ANY", first_type, "CASE", _nvl2),
    by_rule("nullif", "ANY ANY", first_type, "CASE", _null_if),
    by_rule("if", "BOOLEAN ANY ANY", first_type, "CASE", _if),
    by_rule("greatest", "ANY...", first_type, "greatest", _extreme("greatest")),
    by_rule("least", "ANY...", first_type, "least", _extreme("least")),
    by_rule("isnull", "ANY", t.BOOLEAN, "IS NULL",
            lambda _, a: null_test(a[0])),
    by_rule("isnotnull", "ANY", t.BOOLEAN, "IS NOT NULL",
            lambda _, a: null_test(a[0], negated=True)),
    by_native("not", "BOOLEAN", t.BOOLEAN, "(NOT {0})"),
    by_rule("equal_null", "ANY ANY", t.BOOLEAN, "IS NOT DISTINCT FROM", _equal_null),
    by_rule("decode", "ANY ANY ANY...", first_type, "CASE", _decode),
    by_rule("typeof", "ANY", t.STRING, "a constant", _type_name),
]  # fmt: skip
