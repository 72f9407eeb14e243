"""The forms of Spark SQL that are translated, with the parts that each may have.

The parser is another project's: a later version may store a keyword in a part that is not read
here. So the table is closed: any form or part that is not listed is refused.
"""

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.syntax import WRITTEN_TYPE, TypeText

_TAIL = "order limit offset sort distribute cluster"
FORMS: dict[type[exp.Expr], str] = {
    # queries
    exp.Select: "with_ distinct from_ joins laterals where group having qualify windows hint "
    + _TAIL,
    exp.Union: f"with_ distinct by_name {_TAIL}",
    exp.Except: f"with_ distinct {_TAIL}",
    exp.Intersect: f"with_ distinct {_TAIL}",
    exp.Subquery: f"alias with_ pivots {_TAIL}",
    exp.With: "",
    exp.CTE: "alias",
    exp.Values: "alias",
    exp.Tuple: "",
    exp.From: "",
    exp.Table: "db catalog alias joins pivots",
    exp.Pivot: "alias fields unpivot include_nulls columns pivot_column_naming",
    exp.PivotAlias: "alias",
    exp.TableAlias: "columns",
    exp.Join: "side kind on using method",
    exp.Lateral: "view outer alias",
    exp.Aliases: "",
    exp.Where: "",
    exp.Group: "all rollup cube grouping_sets",
    exp.Rollup: "",
    exp.Cube: "",
    exp.GroupingSets: "",
    exp.Having: "",
    exp.Qualify: "",
    exp.Distinct: "",
    exp.Order: "",
    exp.Sort: "",
    exp.Cluster: "",
    exp.Distribute: "",
    exp.Ordered: "desc nulls_first",
    exp.Limit: "",
    exp.Offset: "",
    exp.Star: "except_",
    # names and literals
    exp.Identifier: "quoted",
    exp.Column: "table db catalog",
    exp.Alias: "alias",
    exp.Dot: "",
    exp.Var: "",
    exp.Placeholder: "",
    exp.Kwarg: "",
    exp.Literal: "is_string",
    exp.RawString: "",
    exp.National: "",
    exp.HexString: "is_integer",
    exp.Boolean: "",
    exp.Null: "",
    exp.Interval: "unit",
    exp.IntervalSpan: "",
    exp.Paren: "",
    # operators
    **dict.fromkeys(
        (
            *(exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Neg, exp.And, exp.Or, exp.Not),
            *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is),
            *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Any, exp.All),
            *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot),
            *(exp.BitwiseLeftShift, exp.BitwiseRightShift),
            *(exp.Escape, exp.RegexpLike, exp.Extract, exp.Exists, exp.Anonymous, exp.Bracket),
            *(
                exp.CurrentDate,
                exp.CurrentTimestamp,
                exp.Filter,
                exp.Lambda,
                exp.WithinGroup,
                exp.Kwarg,
            ),
        ),
        "",
    ),
    exp.Div: "safe typed",
    exp.DPipe: "safe",
    exp.Like: "negate",
    exp.ILike: "negate",
    exp.Overlay: "from_ for_",
    exp.Between: "low high",
    exp.In: "query",
    exp.Case: "ifs default",
    exp.If: "true false",
    exp.Cast: "to",
    exp.TryCast: "to safe",
    exp.Trim: "position",
    exp.Substring: "start length zero_start",
    exp.StrPosition: "substr position",
    exp.Window: "partition_by order spec alias over",
    exp.WindowSpec: "kind start start_side end end_side",
}
_ALWAYS = frozenset({"this", "expression", "expressions"})
_ALLOWED = {form: _ALWAYS | frozenset(parts.split()) for form, parts in FORMS.items()}
_GROUPINGS = exp.Rollup | exp.Cube | exp.GroupingSets
_OPAQUE = (exp.DataType, exp.Hint)
"""Nodes that are read as a whole, or not at all."""


def check_syntax(tree: exp.Expr) -> None:
    """Refuse a query with a form, or a part of one, that the translation does not know.

    Raises:
        Refused: with the form and its position.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.DataType):
            _check_types(node)
        if isinstance(node, _OPAQUE):
            continue
        allowed = _ALLOWED.get(type(node))
        if allowed is None:
            raise unsupported(node, f"the catalogue has no {type(node).__name__}")
        for part, value in node.args.items():
            if value and part not in allowed:
                word = part.strip("_").replace("_", " ")
                raise unsupported(node, f"the catalogue has no {type(node).__name__} with {word}")
        _check_form(node)
        if reads_differently(node):
            raise unsupported(node, "Spark reads the operators in another order: add parentheses")
        waiting += node.iter_expressions()


_PLAIN_TYPES = frozenset(
    {
        *("BOOLEAN", "TINYINT", "BYTE", "SMALLINT", "SHORT", "INT", "INTEGER", "BIGINT", "LONG"),
        *("FLOAT", "REAL", "DOUBLE", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"),
        *("STRING", "BINARY", "DECIMAL", "DEC", "NUMERIC", "VOID", "VARIANT"),
        *("L", "S", "Y", "D", "F", "BD"),  # after a number
    }
)
_SIZED_TYPE = re.compile(
    r"(DECIMAL|DEC|NUMERIC)\(\d+(,\d+)?\)|(CHAR|CHARACTER|VARCHAR)\(\d+\)"
    r"|(ARRAY|MAP|STRUCT)<.*>|INTERVAL.*",
    re.DOTALL,
)
_TYPED_LITERALS = frozenset({"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"})


def _check_types(node: exp.DataType) -> None:
    """Check that a type, and those inside it, have names that Spark knows."""
    for part in node.find_all(exp.DataType):
        written = part.meta.get(WRITTEN_TYPE)
        if not isinstance(written, TypeText):
            continue
        text = written.text.upper()
        if text not in _PLAIN_TYPES and not _SIZED_TYPE.fullmatch(text):
            raise wrong(part, f"{written.text} is no type of Spark")


_PREDICATE, _COMPARISON = 9, 8
_LEVELS: dict[type[exp.Expr], int] = {
    **dict.fromkeys((exp.Neg, exp.BitwiseNot), 1),
    **dict.fromkeys((exp.Mul, exp.Div, exp.Mod, exp.IntDiv), 2),
    **dict.fromkeys((exp.Add, exp.Sub, exp.DPipe), 3),
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), 4),
    exp.BitwiseAnd: 5,
    exp.BitwiseXor: 6,
    exp.BitwiseOr: 7,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _COMPARISON),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In, exp.Is), _PREDICATE),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike, exp.Escape), _PREDICATE),
    exp.Not: 10,
    exp.And: 11,
    exp.Or: 12,
}
"""How tightly Spark binds each operator; a lower level binds more tightly."""


def reads_differently(node: exp.Expr) -> bool:
    """Return whether Spark would connect an operator to other operands than the parser did.

    A tree in which no operand binds less tightly than its operator allows is the tree of Spark.
    """
    level = _LEVELS.get(type(node))
    if level is None or isinstance(node, exp.Escape):
        return False
    left, right = level, level - 1
    if level == _PREDICATE:
        is_word = not isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ)
        left = right = _COMPARISON if is_word else _COMPARISON - 1
        right = 0 if isinstance(node, exp.Is) else right
    return _level(node.this) > left or any(
        _level(node.args.get(part)) > right for part in ("expression", "low", "high")
    )


def _level(node: object) -> int:
    if isinstance(node, exp.Add) and all(isinstance(p, exp.Interval) for p in node.flatten()):
        return 0  # `INTERVAL 1 DAY 2 HOURS`
    return _LEVELS.get(type(node), 0) if isinstance(node, exp.Expr) else 0


def _check_form(node: exp.Expr) -> None:
    """Refuse what the parser accepts and Spark does not."""
    match node:
        case exp.Cast() if isinstance(node.this, exp.Literal):
            written = node.to.meta.get(WRITTEN_TYPE)
            if isinstance(written, TypeText):
                _check_literal(node, written)
        case exp.Literal() if not node.is_string:
            _check_number(node, t.DOUBLE_LIMIT)
        case exp.Lateral() if node.args.get("view") and not node.alias:
            raise wrong(node, "LATERAL VIEW takes a name for its rows")
        case exp.Alias() if type(node) is exp.Alias and not _takes_alias(node.parent):
            raise wrong(node, "there is no alias in this place")
    _check_clause(node)


def _check_clause(node: exp.Expr) -> None:
    """Refuse a clause without the parts that Spark asks for."""
    match node:
        case exp.PivotAlias() if not isinstance(node.args.get("alias"), exp.Identifier):
            raise wrong(node, "its alias is not a name")
        case exp.Group() if not any(node.args.values()):
            raise wrong(node, "GROUP BY takes an expression")
        case exp.Select() if node.args.get("joins") and not node.args.get("from_"):
            raise wrong(node, "JOIN takes a FROM before it")
        case exp.Window() if node.args.get("alias") and (
            node.args.get("partition_by") or node.args.get("order") or node.args.get("spec")
        ):
            raise wrong(node, "a window has a name or a definition, not both")
        case exp.Star() | exp.Join():
            _check_list(node, node.args.get("except_") or node.args.get("using") or ())
        case exp.Identifier() if not node.args.get("quoted") and not _NAME.fullmatch(node.name):
            raise wrong(node, f"{node.name} is not a name")


def _check_list(node: exp.Expr, names: Sequence[exp.Expr]) -> None:
    """Check the names of USING or EXCEPT."""
    if not all(isinstance(name, exp.Column | exp.Identifier) for name in names):
        raise wrong(node, "its list holds names of columns only")
    folded = [name.sql().casefold() for name in names]
    if len(set(folded)) < len(folded):
        raise wrong(node, "its list has a name twice")


_NAME = re.compile(r"(?!(AS|DIV)$)\d*[^\W\d]\w*", re.IGNORECASE)


def _takes_alias(parent: exp.Expr | None) -> bool:
    """Return whether the parts of a form may have aliases."""
    match parent:
        case exp.Select() | exp.Pivot():
            return True
        case exp.Tuple():
            return not isinstance(parent.parent, exp.Group | exp.Any | exp.All | _GROUPINGS)
        case exp.Anonymous():
            return parent.name.casefold() == "struct"
    return False


def _check_literal(node: exp.Cast, written: TypeText) -> None:
    """Check a literal with its type: `DATE '2024-01-01'` or `1.5F`."""
    text = written.text.upper()
    if written.start < node.this.meta.get("start", -1) and text not in _TYPED_LITERALS:
        raise wrong(node, f"Spark has no literals of {written.text}")
    if text == "F" and not node.this.is_string:
        _check_number(node.this, t.FLOAT_LIMIT)


def _check_number(node: exp.Expr, limit: Decimal) -> None:
    """Check that the type of a number has its value: DOUBLE with an exponent, else DECIMAL."""
    try:
        value = Decimal(node.name)
    except InvalidOperation as error:
        raise wrong(node, f"{node.name} is not a number") from error
    if "e" in node.name.casefold():
        if abs(value) > limit:
            raise wrong(node, "the number is outside the range of its type")
        return
    _, digits, exponent = value.as_tuple()
    if max(len(digits), -int(exponent)) > t.MOST_DIGITS:
        raise wrong(node, f"the number has more than {t.MOST_DIGITS} digits")


def check_argument_count(node: exp.Expr) -> None:
    """Check the number of arguments of a function that the parser decomposes itself.

    Raises:
        Refused: Spark does not take this number of arguments.
    """
    match node:
        case exp.If() if node.args.get("false") is None and not isinstance(node.parent, exp.Case):
            raise wrong(node, "it takes 3 arguments, not 2")
        case exp.Substring() if node.args.get("start") is None:
            raise wrong(node, "it takes 2 or 3 arguments, not 1")
        case exp.Substring() if node.args.get("zero_start") is not None:
            raise wrong(node, "it takes 2 or 3 arguments, not 4")
