"""Changes to the text of a view, and to the functions that it calls."""

from tests.pipeline.mutations.mutation import (
    NONE,
    OTHER,
    SAME,
    K,
    Mutation,
    edit_function,
    edit_sql,
    rename_alias,
)

TEXT = [
    Mutation("comment", edit_sql("FROM orders o", "-- all\nFROM orders o"), SAME, SAME, SAME),
    Mutation("description", edit_sql("Revenue of each", "Money of each"), SAME, SAME, SAME),
    Mutation("layout", edit_sql("\nJOIN", "\n\n     JOIN"), SAME, SAME, SAME),
    Mutation("keyword case", edit_sql("SELECT c.name AS", "select c.name as"), SAME, SAME, SAME),
    Mutation("function case", edit_sql("sum(o.amount)", "SUM(o.amount)"), SAME, SAME, SAME),
    Mutation(
        "table alias",
        rename_alias,
        SAME,
        OTHER,
        OTHER,
        (K.TOKEN, "`o` became `ord`"),
    ),
    Mutation(
        "column alias",
        edit_sql("AS points", "AS score"),
        OTHER,
        OTHER,
        OTHER,
        (K.TOKEN, "`points` became `score` after `) ) as`"),
    ),
    Mutation(
        "literal", edit_sql("2024", "2023"), OTHER, OTHER, OTHER, (K.TOKEN, "`2024` became `2023`")
    ),
    Mutation(
        "text that has the same plan",
        edit_sql("o.amount >= :least", "o.amount >= try_cast(:least AS INT)"),
        SAME,
        OTHER,
        OTHER,
        (K.TOKEN, "try_cast"),
    ),
]

FUNCTIONS = [
    Mutation(
        "function body",
        edit_function("scale(ids), 1", "scale(ids), 2"),
        OTHER,
        OTHER,
        OTHER,
        (K.FUNCTION, "function points: its body changed"),
    ),
    Mutation(
        "function comment", edit_function("FACTOR = 3", "FACTOR = 3  # why"), SAME, SAME, SAME
    ),
    Mutation("docstring", edit_function("Points of a", "The points of a"), SAME, SAME, SAME),
    Mutation(
        "helper of a function",
        edit_function("return pc.multiply(values, FACTOR)", "return pc.multiply(FACTOR, values)"),
        OTHER,
        OTHER,
        OTHER,
        (K.FUNCTION, "function points: its helper functions.py:scale changed"),
    ),
    Mutation(
        "constant of a helper",
        edit_function("FACTOR = 3", "FACTOR = 4"),
        OTHER,
        OTHER,
        OTHER,
        (K.FUNCTION, "function points: its helper functions.py:FACTOR changed"),
    ),
    Mutation(
        "decorator of a helper",
        edit_function("def scale(values)", "def same(f): return f\n@same\ndef scale(values)"),
        OTHER,
        OTHER,
        OTHER,
        (K.FUNCTION, "function points: its helper functions.py:scale changed"),
    ),
    Mutation(
        "what functions.py does on import",
        edit_function("FACTOR = 3", "FACTOR = 3\nFACTOR += 1"),
        OTHER,
        OTHER,
        OTHER,
        (K.FUNCTION, "function points: what functions.py runs on import is new"),
    ),
    Mutation(
        "function declared stable",
        edit_function('BIGINT")\ndef', 'BIGINT", volatility="stable")\ndef'),
        OTHER,
        NONE,
        OTHER,
        (K.VOLATILE, "points is declared stable: the same only within one run"),
    ),
    Mutation("unrelated function", edit_function("utf8_upper", "utf8_lower"), SAME, SAME, SAME),
]
