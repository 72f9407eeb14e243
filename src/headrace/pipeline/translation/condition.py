"""Translates conditions with their own syntax: BETWEEN, IN a list, IS, LIKE and CASE.

Each function takes a syntax node and the visible names, and returns a typed DataFusion expression.
"""

from collections.abc import Sequence
from functools import reduce

import msgspec
import pyarrow as pa
from sqlglot import exp

from headrace.pipeline.translation import type_rule as t
from headrace.pipeline.translation.catalogue.collection import cast_to_common
from headrace.pipeline.translation.catalogue.pattern import like as like_pattern
from headrace.pipeline.translation.compiler import Compiler, or_refuse, three_valued
from headrace.pipeline.translation.operator import compare, logical, ordered
from headrace.pipeline.translation.refusal import unsupported, wrong
from headrace.pipeline.translation.scope import Scope, field_of
from headrace.pipeline.translation.typed import (
    Typed,
    case,
    is_known_present,
    native,
    null_test,
    present,
)


def between(compiler: Compiler, node: exp.Between, scope: Scope) -> Typed:
    """Compile BETWEEN, both bounds included."""
    value, low, high = (
        compiler.value(part, scope) for part in (node.this, node.args["low"], node.args["high"])
    )
    above = or_refuse(compare(compiler.casts, ">=", value, low), node, value, low)
    below = or_refuse(compare(compiler.casts, "<=", value, high), node, value, high)
    return logical("AND", above, below)


def in_list(compiler: Compiler, node: exp.In, scope: Scope) -> Typed:
    """Compile IN with a list of options."""
    if node.args.get("query") is not None:
        raise unsupported(node, "IN (SELECT ...) is supported only where null counts as false")
    if not node.expressions:
        raise unsupported(node, "the catalogue does not have this form of IN")
    if all(isinstance(part, exp.Tuple) for part in (node.this, *node.expressions)):
        return _in_tuples(compiler, node, scope)
    value = compiler.value(node.this, scope)
    options = [compiler.value(option, scope) for option in node.expressions]
    values = cast_to_common(compiler.casts, [value, *options])
    if values is not None and t.is_orderable(values[0].type):
        if any(option.can_fail for option in values[1:]):
            return _one_by_one(compiler, values[0], values[1:], node)
        first, *choices = map(ordered, values)
        texts = ", ".join(option.text for option in choices)
        fails = any(v.can_fail for v in values)
        return Typed(f"({first.text} IN ({texts}))", t.BOOLEAN, can_fail=fails)
    if values is not None and pa.types.is_struct(values[0].type):
        tests = [_equal_structs(values[0], option, node) for option in values[1:]]
        text = " OR ".join(part.text for part in tests)
        return Typed(f"({text})", t.BOOLEAN, can_fail=any(part.can_fail for part in tests))
    if t.STRING not in {v.type for v in (value, *options)} or len(options) > 1:
        kinds = {v.type for v in options}
        if len(kinds) > 1:
            raise unsupported(node, "the options of IN have different types")
    parts = [compare(compiler.casts, "=", value, option) for option in options]
    tests = [or_refuse(part, node, value, options[0]) for part in parts]
    text = " OR ".join(part.text for part in tests)
    return Typed(f"({text})", t.BOOLEAN, can_fail=any(part.can_fail for part in tests))


def _one_by_one(compiler: Compiler, value: Typed, options: Sequence[Typed], node: exp.In) -> Typed:
    """Compile an IN that stops at the first equal option."""
    tests = (
        or_refuse(compare(compiler.casts, "=", value, option), node, value, option)
        for option in options
    )
    return reduce(lambda left, right: logical("OR", left, right), tests)


def _in_tuples(compiler: Compiler, node: exp.In, scope: Scope) -> Typed:
    """Compile IN for several columns at once, with a list of options.

    Spark treats tuples as structs: a null in one equals a null in another, and IN never returns
    null.
    """
    tuples = [node.this.expressions, *(option.expressions for option in node.expressions)]
    if len({len(parts) for parts in tuples}) > 1:
        raise wrong(node, "the tuples have different numbers of values")
    columns = []
    for parts in zip(*tuples, strict=True):
        column = [compiler.value(part, scope) for part in parts]
        if len({cell.type for cell in column}) > 1 or not _is_plain(column[0].type):
            raise unsupported(node, "the catalogue compares only tuples of the same plain types")
        columns.append(column)
    value, *options = zip(*columns, strict=True)
    tests = (
        " AND ".join(_same(left, right) for left, right in zip(value, option, strict=True))
        for option in options
    )
    fails = any(cell.can_fail for column in columns for cell in column)
    return Typed(f"({' OR '.join(f'({test})' for test in tests)})", t.BOOLEAN, can_fail=fails)


def _is_plain(kind: pa.DataType) -> bool:
    return t.is_orderable(kind) and not t.is_float(kind)


def _same(left: Typed, right: Typed) -> str:
    return f"({left.text} IS NOT DISTINCT FROM {right.text})"


def _equal_structs(left: Typed, right: Typed, node: exp.Expr) -> Typed:
    """Compare two structs; null fields are equal."""
    names = [field.name for field in left.type]
    if not all(_is_plain(field.type) for field in left.type):
        raise unsupported(node, "the catalogue compares only structs of plain types, not of floats")
    pairs = [(field_of(left, name, node), field_of(right, name, node)) for name in names]
    equalities = " AND ".join(_same(*pair) for pair in pairs)
    missing = f"({left.text} IS NULL OR {right.text} IS NULL)"
    text = f"CASE WHEN {missing} THEN NULL ELSE ({equalities}) END"
    return Typed(text, t.BOOLEAN, can_fail=left.can_fail or right.can_fail)


def is_test(compiler: Compiler, node: exp.Is, scope: Scope) -> Typed:
    """Compile IS NULL, IS TRUE and IS FALSE."""
    value = compiler.value(node.this, scope)
    constant = node.expression
    if isinstance(constant, exp.Null):
        return null_test(value)
    if isinstance(constant, exp.Boolean) and value.type == t.BOOLEAN:
        word = "TRUE" if constant.this else "FALSE"
        return present(native(f"({{0}} IS {word})", t.BOOLEAN, value))
    raise unsupported(node, "the catalogue has only IS NULL, IS TRUE and IS FALSE")


def like(compiler: Compiler, node: exp.Expr, scope: Scope) -> Typed:
    """Compile LIKE and ILIKE with a literal pattern, or with several after ANY and ALL."""
    if isinstance(node.expression, exp.Any | exp.All):
        return _like_each(compiler, node, scope)
    escape = "\\"
    like = node
    if isinstance(node, exp.Escape):
        like = node.this
        escape_value = compiler.value(node.expression, scope)
        if not escape_value.is_text() or len(escape_value.value) != 1:
            raise unsupported(node, "ESCAPE takes one character")
        escape = escape_value.value
    value, pattern = compiler.value(like.this, scope), compiler.value(like.expression, scope)
    value = or_refuse(compiler.casts.cast(value, t.STRING), node, value)
    word = "ILIKE" if isinstance(like, exp.ILike) else "LIKE"
    word = f"NOT {word}" if like.args.get("negate") else word
    expression = like_pattern(value, pattern, escape=escape, word=word)
    if expression is None:
        raise unsupported(node, "LIKE takes a literal pattern, with escapes only of % and _")
    return expression


def _like_each(compiler: Compiler, node: exp.Expr, scope: Scope) -> Typed:
    """Compile LIKE ANY and LIKE ALL; with NOT, each pattern is negated."""
    listed = node.expression.this
    if not isinstance(listed, exp.Tuple | exp.Paren) or not (listed.expressions or listed.this):
        raise unsupported(node, "the catalogue has LIKE ANY and LIKE ALL only with patterns")
    tests = []
    for pattern in listed.expressions if isinstance(listed, exp.Tuple) else [listed.this]:
        single = node.copy()
        single.set("expression", pattern.copy())
        tests.append(like(compiler, single, scope))
    word = "OR" if isinstance(node.expression, exp.Any) else "AND"
    return reduce(lambda left, right: logical(word, left, right), tests)


def case_when(compiler: Compiler, node: exp.Case, scope: Scope) -> Typed:
    """Compile CASE in both forms."""
    base = None if node.this is None else compiler.value(node.this, scope)
    tests, results = [], []
    for branch in node.args["ifs"]:
        if base is None:
            if isinstance(branch.this.unnest(), exp.Null):
                raise wrong(branch.this, "a condition is a BOOLEAN, not VOID")
            tests.append(three_valued(compiler, branch.this, scope))
        else:
            option = compiler.value(branch.this, scope)
            equal = compare(compiler.casts, "=", base, option)
            tests.append(or_refuse(equal, node, base, option))
        results.append(compiler.value(branch.args["true"], scope))
    default = node.args.get("default")
    if default is not None:
        results.append(compiler.value(default, scope))
    values = cast_to_common(compiler.casts, results)
    if values is None or values[0].type == t.VOID:
        raise unsupported(node, "the branches have no type in common")
    branches = [(test.text, value.text) for test, value in zip(tests, values, strict=False)]
    last = None if default is None else values[-1]
    omits_tests = last is not None and all(value.text == last.text for value in values)
    if omits_tests and any(test.can_fail for test in tests):
        raise unsupported(node, "all branches are equal, so that Spark omits the conditions")
    fails = any(part.can_fail for part in (*tests, *values))
    # Spark folds branches that are never taken, and evaluates nothing next to a null constant.
    takes_no_branch = all(test.is_null for test in tests)
    is_null = takes_no_branch and (default is None or values[-1].is_null)
    text = None if last is None else last.text
    chosen = case(values[0].type, *branches, default=text, can_fail=fails)
    is_present = last is not None and all(map(is_known_present, values))
    return msgspec.structs.replace(chosen, is_null=is_null, is_present=is_present)


def mixes_equality(node: exp.And) -> bool:
    """Return whether a conjunction has both `=` and `<=>`."""
    kinds = {type(part.unnest()) for part in node.flatten()}
    return {exp.EQ, exp.NullSafeEQ} <= kinds


def without_null_safe(node: exp.And) -> exp.And:
    """Rewrite `<=>` with IS NULL in a conjunction in which null counts as false.

    As keys of one join, DataFusion would read `=` back from a stored plan as `<=>`.
    """
    parts: list[exp.Expr] = []
    for part in node.flatten():
        inner = part.unnest()
        if isinstance(inner, exp.NullSafeEQ):
            left, right = inner.this, inner.expression
            absent = exp.and_(_is_null(left), _is_null(right))
            equal = exp.EQ(this=left.copy(), expression=right.copy())
            parts.append(exp.paren(exp.or_(equal, absent), copy=False))
        else:
            parts.append(part.copy())
    return exp.and_(*parts, copy=False)  # type: ignore[return-value]  # there are at least two


def _is_null(node: exp.Expr) -> exp.Expr:
    return exp.Is(this=node.copy(), expression=exp.Null())
