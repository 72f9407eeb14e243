"""Random calls with lambdas, whose bodies use their parameters and columns of the query."""

from hypothesis import strategies as st

from tests.pipeline.differential.random_expression import Draw, Writer
from tests.pipeline.differential.random_vocabulary import LITERALS, PLAIN

_ARRAYS = {"INT": ["ai"], "STRING": ["st"]}


class BodyWriter(Writer):
    """Writes the body of a lambda."""

    def __init__(self, draw: Draw, variables: dict[str, list[str]]) -> None:
        super().__init__(draw)
        self.variables = variables

    def column(self, kind: str) -> str:
        """Return a parameter of this type, if there is one, or sometimes a column."""
        own = self.variables.get(kind)
        return str(self.pick(own)) if own and self.draw(st.integers(0, 4)) else super().column(kind)


def _array(writer: Writer) -> tuple[str, str]:
    """Return an array, and the type of its elements."""
    if writer.draw(st.booleans()):
        kind = writer.pick(list(_ARRAYS))
        return writer.pick(_ARRAYS[kind]), kind
    kind = writer.pick(PLAIN)
    elements = [writer.leaf(kind) for _ in range(writer.draw(st.integers(1, 3)))]
    if kind == "DECIMAL":
        elements = [writer.column(kind)] * len(elements)
    whole = f"array({', '.join(elements)})"
    return (f"CASE WHEN b THEN {whole} END" if writer.pick([0, 0, 1]) else whole), kind


def _variables(*pairs: tuple[str, str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, kind in pairs:
        names.setdefault(kind, []).append(name)
    return names


@st.composite
def lambda_calls(draw: Draw) -> str:  # noqa: C901  (one case a function)
    """Draw a call of a function that takes lambdas."""
    writer = Writer(draw)
    depth = draw(st.integers(0, 2))
    array, kind = _array(writer)
    element = BodyWriter(draw, _variables(("x", kind), ("i", "INT")))
    alone = BodyWriter(draw, _variables(("x", kind)))
    entry = BodyWriter(draw, _variables(("q", "STRING"), ("v", "INT")))
    match draw(st.integers(0, 11)):
        case 0:
            return f"transform({array}, x -> {alone.any(depth)})"
        case 1:
            return f"transform({array}, (x, i) -> {element.value(writer.pick(PLAIN), depth)})"
        case 2:
            return f"filter({array}, (x, i) -> {element.value('BOOLEAN', depth + 1)})"
        case 3:
            word = writer.pick(["exists", "forall", "filter"])
            return f"{word}({array}, x -> {alone.value('BOOLEAN', depth + 1)})"
        case 4:
            merge = BodyWriter(draw, _variables(("a", "BIGINT"), ("x", kind)))
            return f"aggregate({array}, 0L, (a, x) -> {merge.value('BIGINT', depth + 1)})"
        case 5:
            merge = BodyWriter(draw, _variables(("a", "STRING"), ("x", kind)))
            body = merge.value("STRING", depth + 1)
            return f"reduce({array}, 'z', (a, x) -> {body}, a -> concat(a, w))"
        case 6:
            other, more = _array(writer)
            both = BodyWriter(draw, _variables(("x", kind), ("y", more)))
            return f"zip_with({array}, {other}, (x, y) -> {both.any(depth)})"
        case 7:
            order = writer.pick(["x < y", "x > y", "x IS NULL AND y IS NOT NULL"])
            back = {"x < y": "x > y", "x > y": "x < y"}.get(order, "y IS NULL AND x IS NOT NULL")
            body = f"CASE WHEN {order} THEN -1 WHEN {back} THEN 1 ELSE 0 END"
            return f"array_sort({array}, (x, y) -> {body})"
        case 8:
            return f"map_filter(m, (q, v) -> {entry.value('BOOLEAN', depth + 1)})"
        case 9:
            word = writer.pick(["transform_values", "transform_keys"])
            return f"{word}(m, (q, v) -> {entry.value(writer.pick(['STRING', 'INT']), depth)})"
        case 10:
            other = writer.pick(["m", "map('a', 7, 'z', NULL)", "map('b', k)"])
            both = BodyWriter(draw, _variables(("q", "STRING"), ("v", "INT"), ("u", "INT")))
            return f"map_zip_with(m, {other}, (q, v, u) -> {both.any(depth)})"
        case _:
            inner = BodyWriter(draw, _variables(("x", kind), ("y", "INT")))
            body = inner.value("INT", depth)
            return f"transform({array}, x -> transform(ai, y -> {body}))"


assert set(PLAIN) <= set(LITERALS)
