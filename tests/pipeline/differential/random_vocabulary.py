"""The vocabulary of random queries: literals, suitable arguments, and columns by type."""

import pyarrow as pa

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
FORMATS = ["'999'", "'000'", "'99,999.99'", "'99.9S'", "'S999'", "'$99.00'", "'9999MI'"]
CHARSETS = ["'utf-8'", "'US-ASCII'", "'utf-16be'", "'iso-8859-1'", "'utf-16'", "'hex'", "'base64'"]
PATTERNS = ["'[a-c]+'", "'(a)(b)?'", "'^.'", "'.$'", "'(?i)B|x'", "'a*'", "'[^a]*?'", "'\\\\d+'"]
ADDRESSES = ["'http://u:p@a-b.org:80/c/d?x=1&y=%20#r'", "'http://a'", "'a b'", "'https://a.b/?x'"]
JSON = ["'{\"a\": [1, {\"b\": \"x\"}, null], \"c\": 1.50}'", "'[{\"a\": 1}, {\"a\": \"😀\"}]'",
         "'{\"a\": 2} x'", "'{\"a\": {\"b\": true}, \"c\": -7}'", "'[1, 2'", "s"]  # fmt: skip
XML = ["'<a><b>1</b><b>2.5</b></a>'", "'<a c=\"7\"/>'", "concat('<a><b>', k, '</b></a>')", "w"]
FITTING: dict[str, dict[int, list[str]]] = {
    **{name: {1: CHARSETS} for name in ("encode", "decode", "to_binary", "try_to_binary")},
    **{name: {1: [*FORMATS, *CHARSETS]} for name in ("to_char", "to_varchar")},
    **{
        name: {0: ["'12'", "'-5'", "'1,234.5'", "' 7.25-'", "'$78.12'", "w"], 1: FORMATS}
        for name in ("to_number", "try_to_number")
    },
    **{
        name: {1: PATTERNS}
        for name in ("rlike", "regexp", "regexp_like", "regexp_replace", "regexp_extract", "split",
                     "regexp_extract_all", "regexp_count", "regexp_substr", "regexp_instr")
    },
    **{name: {1: ["'a%'", "'_B%'", "'%'", "'a/_b'"], 2: ["'/'"]} for name in ("like", "ilike")},
    **{
        name: {0: ADDRESSES, 1: ["'HOST'", "'QUERY'", "'PATH'", "'FILE'", "'REF'"], 2: ["'x'"]}
        for name in ("parse_url", "try_parse_url")
    },
    **{name: {0: [*ADDRESSES, "'%'", "s"]} for name in ("url_decode", "try_url_decode")},
    **{name: {0: JSON} for name in ("json_array_length", "json_object_keys")},
    "get_json_object": {0: JSON, 1: ["'$.a'", "'$'", "'$.a[1].b'", "'$[*].a'", "'$[0]'", "'$.c'"]},
    "from_json": {0: JSON, 1: ["'a STRING, c DOUBLE'", "'a INT'", "'a STRUCT<b: BOOLEAN>'"]},
    **{name: {0: ["'%d'", "'<%5s|%s>'", "'%-4s%%'"]} for name in ("format_string", "printf")},
    "format_number": {1: ["2", "0", "5", "-1", "'#####.##'"]},
    "to_json": {0: ["struct(*)", "m", "ai", "st", "array(struct(d, s, dt))", "struct(b, bin, i)"]},
    "hmac": {2: ["'SHA-1'", "'sha-512'"]},
    "luhn_check": {0: ["'79927398713'", "w", "s"]},
    "unbase64": {0: ["base64(bin)", "s", "'YWI='", "'YW I'"]},
    "from_base32": {0: ["to_base32(bin)"]},
    **{name: {0: JSON} for name in ("parse_json", "try_parse_json", "schema_of_json")},
    **{
        name: {1: ["'$'", "'$.a'", "'$[0]'"], 2: ["'int'", "'string'", "'double'", "'boolean'"]}
        for name in ("variant_get", "try_variant_get")
    },
    **{
        f"xpath{kind}": {0: XML, 1: ["'a/b'", "'a/b/text()'", "'sum(a/b)'", "'a'", "'a/@c'"]}
        for kind in ("", "_boolean", "_string", "_double", "_float", "_short", "_int", "_long")
    },
}  # fmt: skip
"""By function and argument position, values that fit better than any value of the type."""
OF_COLUMNS: dict[str, list[str]] = {
    "BOOLEAN": ["b"], "TINYINT": ["y"], "INT": ["i", "k"], "BIGINT": ["l"], "FLOAT": ["f"],
    "DOUBLE": ["d"],
    "DECIMAL": ["dec", "big"], "STRING": ["s", "w"], "BINARY": ["bin"], "DATE": ["dt"],
    "TIMESTAMP": ["ts"], "TIMESTAMP_NTZ": ["ntz"], "ARRAY<INT>": ["ai"], "ARRAY<STRING>": ["st"],
    "MAP": ["m"],
}  # fmt: skip
KINDS = list(OF_COLUMNS)
PLAIN = [kind for kind in KINDS if not kind.startswith(("ARRAY", "MAP"))]
TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_NTZ"}
NUMBERS = ["TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"]
WORDS: dict[str, list[str]] = {
    "INTEGER": ["TINYINT", "INT", "BIGINT"], "NUMERIC": NUMBERS, "FLOATING": ["FLOAT", "DOUBLE"],
    "ARRAY": ["ARRAY<INT>", "ARRAY<STRING>"], "ANY": PLAIN, "VOID": ["INT"],
    "BYTES": ["BINARY"], "TEXT": ["STRING"],
}  # fmt: skip
TYPES: dict[pa.DataType, str] = {
    pa.float32(): "FLOAT", pa.int8(): "TINYINT", pa.bool_(): "BOOLEAN", pa.int32(): "INT",
    pa.int64(): "BIGINT", pa.float64(): "DOUBLE",
    pa.string(): "STRING", pa.date32(): "DATE", pa.timestamp("us", "UTC"): "TIMESTAMP",
    pa.binary(): "BINARY",
}  # fmt: skip
VARIANTS = [
    *("'null'", "'12'", "'1.50'", "'[1, 2.5, null]'", "concat('[', k, ',', k + 0.5, ']')"),
    *("""'{"a":{"b":[true,"x"]},"c":1e3}'""", """concat('{"a":', i, '}')""", "to_json(ai)"),
]
COUNTING = frozenset(
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
"""Functions in which a number sets the length of the result, so it must be small."""
NOT_CALLED = frozenset({"not", "date", "timestamp"})
