"""Random typed queries of Spark SQL, made from the catalogue itself."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from headrace.pipeline.translation.catalogue.aggregate import AGGREGATES
from headrace.pipeline.translation.catalogue.entry import Entry
from headrace.pipeline.translation.catalogue.table import SCALAR
from tests.pipeline.differential.hard_table import COLUMNS
from tests.pipeline.differential.time_word import (
    CONSTANTS_OF,
    INTERVALS,
    PARTS_OF,
    TEXTS_OF,
    UNITS,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]

LITERALS: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false", "CAST(NULL AS BOOLEAN)"],
    "TINYINT": ["1Y", "-128Y"],
    "INT": ["0", "1", "-1", "2", "3", "7", "2147483647", "CAST(NULL AS INT)"],
    "BIGINT": ["0L", "1L", "-3L", "9223372036854775807", "CAST(NULL AS BIGINT)"],
    "FLOAT": ["float(0.5)", "float('-0.0')", "CAST(NULL AS FLOAT)"],
    "DOUBLE": ["0.0D", "-0.0D", "1.5D", "double('NaN')", "double('Infinity')", "1e300"],
    "DECIMAL": ["0.05", "1.5", "-2.345", "100", "0.0000001", "99999999999999999999.5"],
    "STRING": ["''", "'a'", "'abc'", "'X'", "' '", "','", "'1'", "'\U0001f600'", "'aXb'",
               "CAST(NULL AS STRING)"],
    "BINARY": ["X'00'", "X'616263'"],
    "DATE": ["DATE '2024-02-29'", "DATE '1970-01-01'", "DATE '1500-02-28'"],
    "TIMESTAMP": ["TIMESTAMP '2026-03-29 01:30:00+00:00'", "TIMESTAMP '2024-01-31 23:59:59.5Z'"],
    "TIMESTAMP_NTZ": ["TIMESTAMP_NTZ '2026-03-29 02:30:00'"],
    "ARRAY<INT>": ["array(1, 2)", "array(1, NULL, 3)", "CAST(NULL AS ARRAY<INT>)"],
    "ARRAY<STRING>": ["array('a', 'b')", "array('', NULL)"],
    "MAP": ["map('a', 1)", "map('a', 1, 'b', 2)"],
}  # fmt: skip
CONSTANTS: dict[str, list[str]] = {
    "STRING": ["'a'", "'abc'", "'month'", "'week'", "'year'", "'day'", "'hour'", "'[a-c]+'",
               "'(a)(b)'", "'X'", "','", "'mon'", "'su'", "'yyyy-MM-dd HH'", "'x|b'", "'quarter'"],
    "INT": ["0", "1", "2", "-1", "3", "256"],
    "BOOLEAN": ["true", "false"],
    "NUMERIC": ["0", "1", "2", "10", "-1", "0.0", "1e3", "double('NaN')", "1000000000000"],
    "FLOATING": ["0.0D", "-0.0D", "1.5D", "float('-Infinity')", "double('NaN')", "1e300"],
}  # fmt: skip
_FORMATS = ["'999'", "'000'", "'99,999.99'", "'99.9S'", "'S999'", "'$99.00'", "'9999MI'"]
_CHARSETS = ["'utf-8'", "'US-ASCII'", "'utf-16be'", "'iso-8859-1'", "'utf-16'", "'hex'", "'base64'"]
_PATTERNS = ["'[a-c]+'", "'(a)(b)?'", "'^.'", "'.$'", "'(?i)B|x'", "'a*'", "'[^a]*?'", "'\\\\d+'"]
_ADDRESSES = ["'http://u:p@a-b.org:80/c/d?x=1&y=%20#r'", "'http://a'", "'a b'", "'https://a.b/?x'"]
_JSON = ["'{\"a\": [1, {\"b\": \"x\"}, null], \"c\": 1.50}'", "'[{\"a\": 1}, {\"a\": \"😀\"}]'",
         "'{\"a\": 2} x'", "'{\"a\": {\"b\": true}, \"c\": -7}'", "'[1, 2'", "s"]  # fmt: skip
_XML = ["'<a><b>1</b><b>2.5</b></a>'", "'<a c=\"7\"/>'", "concat('<a><b>', k, '</b></a>')", "w"]
_FITTING: dict[str, dict[int, list[str]]] = {
    **{name: {1: _CHARSETS} for name in ("encode", "decode", "to_binary", "try_to_binary")},
    **{name: {1: [*_FORMATS, *_CHARSETS]} for name in ("to_char", "to_varchar")},
    **{
        name: {0: ["'12'", "'-5'", "'1,234.5'", "' 7.25-'", "'$78.12'", "w"], 1: _FORMATS}
        for name in ("to_number", "try_to_number")
    },
    **{
        name: {1: _PATTERNS}
        for name in ("rlike", "regexp", "regexp_like", "regexp_replace", "regexp_extract", "split",
                     "regexp_extract_all", "regexp_count", "regexp_substr", "regexp_instr")
    },
    **{name: {1: ["'a%'", "'_B%'", "'%'", "'a/_b'"], 2: ["'/'"]} for name in ("like", "ilike")},
    **{
        name: {0: _ADDRESSES, 1: ["'HOST'", "'QUERY'", "'PATH'", "'FILE'", "'REF'"], 2: ["'x'"]}
        for name in ("parse_url", "try_parse_url")
    },
    **{name: {0: [*_ADDRESSES, "'%'", "s"]} for name in ("url_decode", "try_url_decode")},
    **{name: {0: _JSON} for name in ("json_array_length", "json_object_keys")},
    "get_json_object": {0: _JSON, 1: ["'$.a'", "'$'", "'$.a[1].b'", "'$[*].a'", "'$[0]'", "'$.c'"]},
    "from_json": {0: _JSON, 1: ["'a STRING, c DOUBLE'", "'a INT'", "'a STRUCT<b: BOOLEAN>'"]},
    **{name: {0: ["'%d'", "'<%5s|%s>'", "'%-4s%%'"]} for name in ("format_string", "printf")},
    "format_number": {1: ["2", "0", "5", "-1", "'#####.##'"]},
    "to_json": {0: ["struct(*)", "m", "ai", "st", "array(struct(d, s, dt))", "struct(b, bin, i)"]},
    "hmac": {2: ["'SHA-1'", "'sha-512'"]},
    "luhn_check": {0: ["'79927398713'", "w", "s"]},
    "unbase64": {0: ["base64(bin)", "s", "'YWI='", "'YW I'"]},
    "from_base32": {0: ["to_base32(bin)"]},
    **{name: {0: _JSON} for name in ("parse_json", "try_parse_json", "schema_of_json")},
    **{
        name: {1: ["'$'", "'$.a'", "'$[0]'"], 2: ["'int'", "'string'", "'double'", "'boolean'"]}
        for name in ("variant_get", "try_variant_get")
    },
    **{
        f"xpath{kind}": {0: _XML, 1: ["'a/b'", "'a/b/text()'", "'sum(a/b)'", "'a'", "'a/@c'"]}
        for kind in ("", "_boolean", "_string", "_double", "_float", "_short", "_int", "_long")
    },
}  # fmt: skip
"""By function and argument, what fits better than any value of its type."""
_OF_COLUMNS: dict[str, list[str]] = {
    "BOOLEAN": ["b"], "TINYINT": ["y"], "INT": ["i", "k"], "BIGINT": ["l"], "FLOAT": ["f"],
    "DOUBLE": ["d"],
    "DECIMAL": ["dec", "big"], "STRING": ["s", "w"], "BINARY": ["bin"], "DATE": ["dt"],
    "TIMESTAMP": ["ts"], "TIMESTAMP_NTZ": ["ntz"], "ARRAY<INT>": ["ai"], "ARRAY<STRING>": ["st"],
    "MAP": ["m"],
}  # fmt: skip
KINDS = list(_OF_COLUMNS)
PLAIN = [kind for kind in KINDS if not kind.startswith(("ARRAY", "MAP"))]
_TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_NTZ"}
_NUMBERS = ["TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"]
_WORDS: dict[str, list[str]] = {
    "INTEGER": ["TINYINT", "INT", "BIGINT"], "NUMERIC": _NUMBERS, "FLOATING": ["FLOAT", "DOUBLE"],
    "ARRAY": ["ARRAY<INT>", "ARRAY<STRING>"], "ANY": PLAIN, "VOID": ["INT"],
    "BYTES": ["BINARY"], "TEXT": ["STRING"],
}  # fmt: skip
_TYPES: dict[pa.DataType, str] = {
    pa.float32(): "FLOAT", pa.int8(): "TINYINT", pa.bool_(): "BOOLEAN", pa.int32(): "INT",
    pa.int64(): "BIGINT", pa.float64(): "DOUBLE",
    pa.string(): "STRING", pa.date32(): "DATE", pa.timestamp("us", "UTC"): "TIMESTAMP",
    pa.binary(): "BINARY",
}  # fmt: skip
_ENTRIES: list[Entry] = [entry for some in SCALAR.by_name.values() for entry in some]
_GIVING: dict[str, list[Entry]] = {
    kind: [e for e in _ENTRIES if not callable(e.gives) and _TYPES.get(e.gives) == kind]
    for kind in KINDS
}
_VARIANTS = [
    *("'null'", "'12'", "'1.50'", "'[1, 2.5, null]'", "concat('[', k, ',', k + 0.5, ']')"),
    *("""'{"a":{"b":[true,"x"]},"c":1e3}'""", """concat('{"a":', i, '}')""", "to_json(ai)"),
]
_COUNTING = frozenset(
    {
        "repeat",
        "lpad",
        "rpad",
        "space",
        "array_repeat",
        "sequence",
        "array_insert",
        "slice",
        "format_number",
    }
)
"""Functions whose result is as long as a number says: it must be small."""
_NOT_CALLED = frozenset({"not", "date", "timestamp"})


class Writer:
    """Writes expressions; `draw` decides."""

    def __init__(self, draw: Draw, prefix: str = "") -> None:
        self.draw, self.prefix = draw, prefix

    def pick(self, options: list[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def column(self, kind: str) -> str:
        return self.prefix + str(self.pick(_OF_COLUMNS[kind]))

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
        elif kind in _NUMBERS:
            makers = [self.arithmetic, *makers]
        elif kind in _TIMES:
            makers = [self.shifted, *makers]
        return str(self.pick(makers)(kind, depth - 1))

    def leaf_of(self, kind: str, _: int) -> str:
        return self.leaf(kind)

    def any(self, depth: int) -> str:
        """An expression of any type: any entry of the catalogue, as often as not."""
        if self.draw(st.booleans()):
            return self.entry(self.pick(_ENTRIES), depth)
        if self.draw(st.integers(0, 9)) == 0:
            return self.passed(depth - 1)
        return self.value(self.pick(KINDS), depth)

    def call(self, kind: str, depth: int) -> str:
        entries = _GIVING.get(kind)
        return self.entry(self.pick(entries), depth) if entries else self.leaf(kind)

    def entry(self, entry: Entry, depth: int) -> str:
        if entry.name in _NOT_CALLED or not entry.takes:
            return self.leaf("BOOLEAN")
        arguments: list[str] = []
        fitting = _FITTING.get(entry.name, {})
        for place, written in enumerate(entry.takes):
            if written.startswith("[") and self.draw(st.booleans()):
                break
            word = written.strip("[]")
            count = self.draw(st.integers(1, 3)) if word.endswith("...") else 1
            if place in fitting and self.draw(st.integers(0, 5)):
                arguments.append(str(self.pick(fitting[place])))
                continue
            if entry.name in _COUNTING and word in {"INT", "INTEGER"}:
                arguments.append(self.pick(["0", "1", "-1", "3", "5", "k"]))
                continue
            special = self.special(entry.name, word)
            if special is not None:
                arguments.append(self.pick(special))
                continue
            arguments += [self.argument(word.removesuffix("..."), depth) for _ in range(count)]
        return f"{entry.name}({', '.join(arguments)})"

    def special(self, name: str, word: str) -> list[str] | None:
        """Arguments that mean something to a function of times, as often as not."""
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
        return self.value(self.pick(_WORDS.get(word, [word])), depth - 1)

    def variant(self, depth: int) -> str:
        text = self.pick(_VARIANTS) if self.draw(st.booleans()) else self.value("STRING", depth - 1)
        return f"try_parse_json({text})"

    def shifted(self, kind: str, depth: int) -> str:
        """A date or time that is moved."""
        value = self.value(kind, depth)
        if self.draw(st.booleans()):
            return f"({value} {self.pick(['+', '-'])} {self.pick(INTERVALS)})"
        return f"timestampadd({self.pick(UNITS)}, {self.leaf('INT')}, {value})"

    def passed(self, depth: int) -> str:
        """The time between two times, as a number or a comparison."""
        kind = self.pick(sorted(_TIMES))
        sides = self.value(kind, depth), self.value(self.pick([kind, "DATE"]), depth)
        return str(self.pick([
            f"timestampdiff({self.pick(UNITS)}, {sides[0]}, {sides[1]})",
            f"(({sides[0]} - {sides[1]}) < {self.pick(INTERVALS)})",
            f"extract({self.pick(['DAY', 'HOUR', 'SECOND'])} FROM {sides[0]} - {sides[1]})",
            f"({self.pick(INTERVALS)} DIV {self.pick(INTERVALS)})",
        ]))  # fmt: skip

    def arithmetic(self, kind: str, depth: int) -> str:
        operator = self.pick(["+", "-", "*", "/", "%", "DIV"])
        sides = [self.value(self.pick([kind, *_NUMBERS]), depth) for _ in range(2)]
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


_SHARES = ["0.5", "0.25", "1.0", "0", "0.9D", "0.333", "array(0.1, 0.75)"]


def _aggregate(writer: Writer) -> str:
    entry = AGGREGATES[writer.pick(sorted(AGGREGATES))]
    if entry.name == "count" and writer.draw(st.booleans()):
        return "count(*)"
    form, _, order = entry.takes.partition(" WITHIN GROUP ")
    arguments: list[str] = []
    for written in form.split():
        if written.startswith("[") and written != "[ANY...]" and writer.draw(st.booleans()):
            break
        if written == "[STRING!]":
            arguments.append("', '")
            continue
        arguments.append(_aggregated(writer, entry.name, written.strip("[].!")))
    if order:
        key = (
            arguments[0]
            if "the same" in order
            else _aggregated(writer, entry.name, "INTEGER|FLOATING")
        )
        if "the same" not in order:
            arguments = [a for a in arguments if not a.startswith("array")] or ["0.5"]
        return f"{entry.name}({', '.join(arguments)}) WITHIN GROUP (ORDER BY {key})"
    is_plain = len(arguments) == 1 and writer.draw(st.integers(0, 4)) == 0
    only = " FILTER (WHERE b)" if writer.draw(st.integers(0, 4)) == 0 else ""
    return f"{entry.name}({'DISTINCT ' if is_plain else ''}{', '.join(arguments)}){only}"


def _aggregated(writer: Writer, name: str, word: str) -> str:
    """An argument of an aggregate."""
    if word == "SHARE":
        return str(writer.pick(_SHARES))
    if name in {"max_by", "min_by"} and word == "INTEGER":
        return str(writer.pick(["1", "2"]))
    if word == "TRUE":
        return "true"
    if word == "VARIANT":
        return writer.variant(1)
    if name in {"listagg", "string_agg"}:
        return str(writer.pick(["w", "s"]))
    kind = writer.pick([k for part in word.split("|") for k in _WORDS.get(part, [part])])
    return writer.leaf(kind) if kind == "DOUBLE" else writer.value(kind, 1)


@st.composite
def projections(draw: Draw) -> str:
    writer = Writer(draw)
    return writer.any(draw(st.integers(1, 3)))


@st.composite
def aggregations(draw: Draw) -> str:
    """A query that aggregates, in groups or as a whole."""
    source = draw(st.sampled_from(["everyday", "everyday", "extreme"]))
    form = draw(st.sampled_from([_grouped, _grouped, _windowed]))
    return str(form(Writer(draw), source, ""))


@st.composite
def queries(draw: Draw) -> str:
    """A query over the tables, with no order to be compared."""
    source = draw(st.sampled_from(["everyday", "everyday", "extreme"]))
    writer = Writer(draw)
    where = f" WHERE {writer.value('BOOLEAN', 2)}" if draw(st.booleans()) else ""
    form: Callable[[Writer, str, str], str] = draw(
        st.sampled_from(
            [_filtered, _grouped, _rolled, _joined, _merged, _united, _windowed, _nested, _limited]
        )
    )
    return form(writer, source, where)


def _filtered(writer: Writer, source: str, where: str) -> str:
    word = writer.pick(["", "DISTINCT "])
    return f"SELECT {word}{writer.value(writer.pick(PLAIN), 2)} AS a FROM {source}{where}"


def _grouped(writer: Writer, source: str, where: str) -> str:
    key = writer.value(writer.pick(PLAIN), 1)
    some = [_aggregate(writer) for _ in range(2)]
    having = f" HAVING {_aggregate(writer)} IS NOT NULL" if writer.pick([0, 1]) else ""
    if writer.pick([0, 0, 1]):
        return f"SELECT {some[0]} AS p, {some[1]} AS q FROM {source}{where}"
    by = writer.pick([key, "g", "1"])
    shown = f"{key} AS g, {some[0]} AS p, {some[1]} AS q"
    return f"SELECT {shown} FROM {source}{where} GROUP BY {by}{having}"


def _rolled(writer: Writer, source: str, where: str) -> str:
    """Grouping sets over columns and expressions."""
    one, two = (writer.value(writer.pick(PLAIN), writer.pick([0, 0, 1])) for _ in range(2))
    sets = writer.pick(
        [
            f"ROLLUP ({one}, {two})", f"CUBE ({one}, {two})", f"{one}, ROLLUP ({two})",
            f"{one}, {two} WITH ROLLUP", f"ROLLUP (({one}, {two}))",
            f"GROUPING SETS (({one}, {two}), ({two}), ())", f"CUBE ({one}), ROLLUP ({two})",
            f"GROUPING SETS (({one}), ROLLUP ({two}, {one}))",
        ]
    )  # fmt: skip
    more = writer.pick(["", f", grouping({two}) AS g", ", grouping_id() AS g"])
    shown = f"{one} AS x, {two} AS y, {_aggregate(writer)} AS z{more}"
    return f"SELECT {shown} FROM {source}{where} GROUP BY {sets}"


def _merged(writer: Writer, source: str, where: str) -> str:
    """Joins by columns of the same name, some of which match."""
    del where
    name = writer.pick([name for kind in PLAIN for name in _OF_COLUMNS[kind] if name != "k"])
    word = writer.pick(["", "LEFT ", "RIGHT ", "FULL ", "LEFT SEMI ", "LEFT ANTI "])
    other = writer.pick(["everyday", "extreme"])
    left = f"(SELECT k, {name} FROM {source}) p"
    right = f"(SELECT {name}, k AS kk FROM {other}) q"
    if writer.pick([0, 1]):
        return f"SELECT * FROM {left} NATURAL {word}JOIN {right}"
    return f"SELECT * FROM {left} {word}JOIN {right} USING ({name})"


def _joined(writer: Writer, source: str, where: str) -> str:
    word = writer.pick(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN",
                        "LEFT ANTI JOIN", "CROSS JOIN"])  # fmt: skip
    kind = writer.pick(PLAIN)
    name = writer.pick(_OF_COLUMNS[kind])
    other = writer.pick(["everyday", "extreme"])
    more = f" AND p.b {writer.pick(['=', '<=>'])} q.b" if writer.pick([0, 1]) else ""
    operator = writer.pick(["=", "<=>", "<"])
    on = "" if word == "CROSS JOIN" else f" ON p.{name} {operator} q.{name}{more}"
    del where
    shown = "p.k AS a" if "SEMI" in word or "ANTI" in word else "p.k AS a, q.k AS c"
    return f"SELECT {shown} FROM {source} p {word} {other} q{on}"


def _united(writer: Writer, source: str, where: str) -> str:
    word = writer.pick(["UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"])
    kind = writer.pick(PLAIN)
    other = writer.pick(["everyday", "extreme"])
    sides = [writer.value(kind, 1) for _ in range(2)]
    return f"SELECT {sides[0]} AS a FROM {source}{where} {word} SELECT {sides[1]} FROM {other}"


def _windowed(writer: Writer, source: str, where: str) -> str:
    del where
    parts = f"PARTITION BY {writer.value(writer.pick(PLAIN), 1)} " if writer.pick([0, 1]) else ""
    down = writer.pick(["", " DESC", " DESC NULLS FIRST", " NULLS LAST"])
    frame = writer.pick(
        ["", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
         " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
         " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"]
    )  # fmt: skip
    kind = writer.pick(PLAIN)
    function, order = writer.pick(
        [
            ("row_number()", f"{writer.leaf(kind)}{down}, k"),
            ("rank()", f"{writer.leaf(kind)}{down}"),
            ("dense_rank()", f"{writer.leaf(kind)}{down}"),
            ("percent_rank()", f"{writer.leaf(kind)}{down}"),
            ("cume_dist()", f"{writer.leaf(kind)}{down}"),
            ("ntile(3)", f"{writer.leaf(kind)}{down}, k"),
            (f"lag({writer.column(kind)})", f"{writer.leaf(kind)}{down}, k"),
            (f"lead({writer.column(kind)}, 2)", f"k{down}"),
            (f"nth_value({writer.column(kind)}, 2)", f"k{down}{frame}"),
            (f"rank({writer.column(kind)})", f"{writer.leaf(kind)}{down}"),
            (f"first_value({writer.column(kind)})", f"k{down}{frame}"),
            (f"last_value({writer.column(kind)})", f"k{down}{frame}"),
            (_aggregate(writer).replace(" FILTER (WHERE b)", ""), f"k{down}{frame}"),
        ]
    )
    return f"SELECT k, {function} OVER ({parts}ORDER BY {order}) AS a FROM {source}"


def _nested(writer: Writer, source: str, where: str) -> str:
    kind = writer.pick(PLAIN)
    name = writer.pick(_OF_COLUMNS[kind])
    other = writer.pick(["everyday", "extreme"])
    inner = f"SELECT q.{name} FROM {other} q WHERE {Writer(writer.draw, 'q.').value('BOOLEAN', 1)}"
    condition = writer.pick(
        [
            f"{name} IN ({inner})",
            f"{name} NOT IN ({inner})",
            f"{name} NOT IN (SELECT q.{name} FROM {other} q WHERE q.{name} IS NOT NULL)",
            f"EXISTS (SELECT * FROM {other} q WHERE q.{name} = p.{name})",
            f"NOT EXISTS (SELECT * FROM {other} q WHERE q.{name} = p.{name} AND q.k > p.k)",
            f"{name} >= (SELECT max(q.{name}) FROM {other} q WHERE q.k = p.k)",
            f"k > (SELECT count(*) FROM {other} q WHERE q.{name} = p.{name})",
            f"{name} IN (SELECT q.{name} FROM {other} q WHERE q.b = p.b)",
            f"{name} NOT IN (SELECT q.{name} FROM {other} q WHERE q.b = p.b)",
            f"{name} NOT IN (SELECT q.{name} FROM {other} q WHERE q.b <=> p.b)",
            f"{name} NOT IN (SELECT q.{name} FROM {other} q WHERE q.k > p.k)",
            f"(k, {name}) {writer.pick(['', 'NOT '])}IN (SELECT q.y, q.{name} FROM {other} q)",
            f"NOT ({name} IN (SELECT q.{name} FROM {other} q WHERE q.k = p.k))",
            f"{name} > (SELECT q.{name} FROM {other} q WHERE q.k = {writer.pick([1, 4, 9])})",
        ]
    )
    del where
    return f"WITH p AS (SELECT * FROM {source}) SELECT k FROM p WHERE {condition}"


def _limited(writer: Writer, source: str, where: str) -> str:
    key = writer.leaf(writer.pick(PLAIN))
    down = writer.pick(["", " DESC", " NULLS LAST", " DESC NULLS FIRST"])
    count, skip = writer.pick([1, 3]), writer.pick(["", " OFFSET 2"])
    return f"SELECT k, {key} AS a FROM {source}{where} ORDER BY {key}{down}, k LIMIT {count}{skip}"


assert set(COLUMNS) >= {name for names in _OF_COLUMNS.values() for name in names}
