"""Changes to aggregates, windows and table functions: the same for each kind."""

from textwrap import dedent

from tests.pipeline.function_changes.change import BODY, Change

_KINDS = {
    "aggregate": ("aggregate", 'aggregate("BIGINT", returns="BIGINT")', "sum(f(x) for x in {0})"),
    "window": ("window", 'window("BIGINT", returns="BIGINT")', "max(f(x) for x in {0})"),
    "table function": (
        "table_function",
        'table_function("BIGINT", returns="n BIGINT")',
        "{{'n': [f(n) for n in range({1})]}}",
    ),
}
_BODY = """
    import pyarrow as pa
    from headrace.pipeline import {imported}

    A = 1
    UNUSED = 1


    def f(x, by=2):
        return x * by + A


    @{declaration}
    def points(ids):
        # one
        return {value}
    """


def _kind(name: str) -> str:
    imported, declaration, value = _KINDS[name]
    shown = value.format("ids.to_pylist()", "ids")
    return dedent(_BODY).format(imported=imported, declaration=declaration, value=shown)


def _changed_kind(name: str, change: str, old: str, new: str, says: str | None) -> Change:
    before = _kind(name)
    assert old in before
    after = before.replace(old, new)
    return Change(f"{name}: {change}", {"functions.py": before}, {"functions.py": after}, says)


KIND_CHANGES = [
    *(
        change
        for name, call in [("aggregate", "sum(f"), ("window", "max(f"), ("table function", "[f")]
        for change in (
            _changed_kind(name, "body", call, call.replace("f", "3 * f"), BODY),
            _changed_kind(name, "helper", "x * by", "x - by", "its helper functions.py:f changed"),
            _changed_kind(name, "default of a helper", "by=2", "by=3", "functions.py:f"),
            _changed_kind(name, "constant", "A = 1", "A = 2", "its helper functions.py:A changed"),
            _changed_kind(name, "unrelated constant", "UNUSED = 1", "UNUSED = 2", None),
            _changed_kind(name, "comment", "# one", "# two", None),
        )
    ),
    Change(
        "another kind",
        {"functions.py": _kind("aggregate")},
        {"functions.py": _kind("aggregate").replace("aggregate", "window")},
        "its signature was aggregate points(BIGINT) -> BIGINT immutable and is window points",
        judged=False,
    ),
]
