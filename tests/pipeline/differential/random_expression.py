"""Random typed Spark SQL expressions, generated from the function catalogue."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from headrace.pipeline.translation.catalogue.entry import Entry
from headrace.pipeline.translation.catalogue.table import SCALAR
from tests.pipeline.differential.random_vocabulary import (
    CONSTANTS,
    COUNTING,
    FITTING,
    KINDS,
    LITERALS,
    NOT_CALLED,
    NUMBERS,
    OF_COLUMNS,
    PLAIN,
    TIMES,
    TYPES,
    VARIANTS,
    WORDS,
)
from tests.pipeline.differential.time_word import (
    CONSTANTS_OF,
    INTERVALS,
    PARTS_OF,
    TEXTS_OF,
    UNITS,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]

_ENTRIES: list[Entry] = [entry for some in SCALAR.by_name.values() for entry in some]
_GIVING: dict[str, list[Entry]] = {
    kind: [e for e in _ENTRIES if not callable(e.gives) and TYPES.get(e.gives) == kind]
    for kind in KINDS
}


class Writer:
    """Writes expressions by making choices with `draw`."""

    def __init__(self, draw: Draw, prefix: str = "") -> None:
        self.draw, self.prefix = draw, prefix

    def pick(self, options: list[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def column(self, kind: str) -> str:
        return self.prefix + str(self.pick(OF_COLUMNS[kind]))

    def leaf(self, kind: str) -> str:
        if self.draw(st.integers(0, 3)):
            return self.column(kind)
        return str(self.pick(LITERALS[kind]))

    def value(self, kind: str, depth: int) -> str:
        if depth <= 0:
            return self.leaf(kind)
        makers: list[Any] = [self.leaf_of, self.call, self.case, self.cast]
        if kind == "BOOLEAN":
            makers = [self.comparison, self.logic, self.call, self.membership, *makers]
        elif kind in NUMBERS:
            makers = [self.arithmetic, *makers]
        elif kind in TIMES:
            makers = [self.shifted, *makers]
        return str(self.pick(makers)(kind, depth - 1))

    def leaf_of(self, kind: str, _: int) -> str:
        return self.leaf(kind)

    def any(self, depth: int) -> str:
        """Return an expression of any type; half of the time, a call of any catalogue entry."""
        if self.draw(st.booleans()):
            return self.entry(self.pick(_ENTRIES), depth)
        if self.draw(st.integers(0, 9)) == 0:
            return self.passed(depth - 1)
        return self.value(self.pick(KINDS), depth)

    def call(self, kind: str, depth: int) -> str:
        entries = _GIVING.get(kind)
        return self.entry(self.pick(entries), depth) if entries else self.leaf(kind)

    def entry(self, entry: Entry, depth: int) -> str:
        if entry.name in NOT_CALLED or not entry.takes:
            return self.leaf("BOOLEAN")
        arguments: list[str] = []
        fitting = FITTING.get(entry.name, {})
        for place, written in enumerate(entry.takes):
            if written.startswith("[") and self.draw(st.booleans()):
                break
            word = written.strip("[]")
            count = self.draw(st.integers(1, 3)) if word.endswith("...") else 1
            if place in fitting and self.draw(st.integers(0, 5)):
                arguments.append(str(self.pick(fitting[place])))
                continue
            if entry.name in COUNTING and word in {"INT", "INTEGER"}:
                arguments.append(self.pick(["0", "1", "-1", "3", "5", "k"]))
                continue
            if entry.name == "sequence" and word == "ANY":  # numbers would make billions of rows
                arguments.append(self.leaf("DATE"))
                continue
            special = self.special(entry.name, word)
            if special is not None:
                arguments.append(self.pick(special))
                continue
            arguments += [self.argument(word.removesuffix("..."), depth) for _ in range(count)]
        return f"{entry.name}({', '.join(arguments)})"

    def special(self, name: str, word: str) -> list[str] | None:
        """Return arguments that are meaningful to a date or time function, or None."""
        if word == "STRING!":
            return CONSTANTS_OF.get(name)
        if word in {"STRING", "ANY"} and self.draw(st.booleans()):
            return TEXTS_OF.get(name)
        if word in {"INT", "NUMERIC"} and self.draw(st.integers(0, 3)):
            return PARTS_OF.get(name)
        return None

    def argument(self, word: str, depth: int) -> str:
        if word == "VARIANT":
            return self.variant(depth)
        if word.endswith("!") and word != "INTERVAL!":
            return str(self.pick(CONSTANTS[{"TEXT!": "STRING"}.get(word, word[:-1])]))
        if word in {"INTERVAL", "INTERVAL!"}:
            return str(self.pick(INTERVALS))
        if word == "TIME":
            return str(self.pick(["TIME '2:30:45.887'", "TIME '00:00:00'"]))
        return self.value(self.pick(WORDS.get(word, [word])), depth - 1)

    def variant(self, depth: int) -> str:
        text = self.pick(VARIANTS) if self.draw(st.booleans()) else self.value("STRING", depth - 1)
        return f"try_parse_json({text})"

    def shifted(self, kind: str, depth: int) -> str:
        """Return a date or time shifted by an interval."""
        value = self.value(kind, depth)
        if self.draw(st.booleans()):
            return f"({value} {self.pick(['+', '-'])} {self.pick(INTERVALS)})"
        return f"timestampadd({self.pick(UNITS)}, {self.leaf('INT')}, {value})"

    def passed(self, depth: int) -> str:
        """Return the difference of two times, as a number or a comparison."""
        kind = self.pick(sorted(TIMES))
        sides = self.value(kind, depth), self.value(self.pick([kind, "DATE"]), depth)
        return str(self.pick([
            f"timestampdiff({self.pick(UNITS)}, {sides[0]}, {sides[1]})",
            f"(({sides[0]} - {sides[1]}) < {self.pick(INTERVALS)})",
            f"extract({self.pick(['DAY', 'HOUR', 'SECOND'])} FROM {sides[0]} - {sides[1]})",
            f"({self.pick(INTERVALS)} DIV {self.pick(INTERVALS)})",
        ]))  # fmt: skip

    def arithmetic(self, kind: str, depth: int) -> str:
        operator = self.pick(["+", "-", "*", "/", "%", "DIV"])
        sides = [self.value(self.pick([kind, *NUMBERS]), depth) for _ in range(2)]
        return f"({sides[0]} {operator} {sides[1]})"

    def comparison(self, _: str, depth: int) -> str:
        operator = self.pick(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        kind = self.pick(PLAIN)
        other = kind if self.draw(st.integers(0, 3)) else self.pick(PLAIN)
        return f"({self.value(kind, depth)} {operator} {self.value(other, depth)})"

    def logic(self, _: str, depth: int) -> str:
        word = self.pick(["AND", "OR"])
        left, right = self.value("BOOLEAN", depth), self.value("BOOLEAN", depth)
        form = self.pick(["({0} {2} {1})", "(NOT {0})", "({0} IS NULL)", "({0} IS NOT TRUE)"])
        return str(form.format(left, right, word))

    def membership(self, _: str, depth: int) -> str:
        kind = self.pick(PLAIN)
        value = self.value(kind, depth)
        match self.draw(st.integers(0, 2)):
            case 0:
                options = ", ".join(self.leaf(kind) for _ in range(self.draw(st.integers(1, 3))))
                word = self.pick(["IN", "NOT IN"])
                return f"({value} {word} ({options}))"
            case 1:
                return f"({value} BETWEEN {self.leaf(kind)} AND {self.leaf(kind)})"
            case _:
                pattern = self.pick(["a%", "%b%", "_b%", "a\\\\_b", "%", "", "\\\\%", "100"])
                return f"({self.value('STRING', depth)} LIKE '{pattern}')"

    def case(self, kind: str, depth: int) -> str:
        branches = [self.value(kind, depth) for _ in range(2)]
        test = self.value("BOOLEAN", depth)
        last = f" ELSE {branches[1]}" if self.draw(st.booleans()) else ""
        return f"CASE WHEN {test} THEN {branches[0]}{last} END"

    def cast(self, kind: str, depth: int) -> str:
        source = self.pick(PLAIN)
        to = {"DECIMAL": "DECIMAL(12, 3)", "MAP": "MAP<STRING, INT>"}.get(kind, kind)
        word = self.pick(["CAST", "TRY_CAST"])
        return f"{word}({self.value(source, depth)} AS {to})"
