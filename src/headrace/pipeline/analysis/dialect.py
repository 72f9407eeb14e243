"""DataFusion's SQL as a sqlglot dialect.

It extends Spark's dialect, since DataFusion has most of Spark's functions under their own names
(`enable_spark_functions`), and overrides what DataFusion writes differently. What DataFusion cannot
express is refused, not approximated: such a view is not planned, but still runs on Spark.
"""

from collections.abc import Callable

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator

_Kind = exp.DataType.Type


def _refuse(reason: str) -> Callable[[SparkGenerator, exp.Expr], str]:
    """Return a transform that refuses what Spark and DataFusion compute differently."""

    def transform(self: SparkGenerator, expression: exp.Expr) -> str:
        self.unsupported(f"{reason} ({expression.sql(dialect='spark')})")
        return ""  # the generator raises at the end

    return transform


def _date_part(part: str, *, plus: int = 0) -> Callable[[SparkGenerator, exp.Expr], str]:
    def transform(self: SparkGenerator, expression: exp.Expr) -> str:
        text = self.func("DATE_PART", exp.Literal.string(part), expression.this)
        return f"({text} + CAST({plus} AS INT))" if plus else text

    return transform


_PARTS = frozenset({"year", "quarter", "month", "week", "day", "doy", "hour", "minute"})
"""The parts of a time that Spark and DataFusion count the same way."""


def _extract(self: SparkGenerator, expression: exp.Extract) -> str:
    part = expression.this.name.lower()
    if part not in _PARTS:
        return _refuse("parts of times are counted differently")(self, expression)
    return self.func("DATE_PART", exp.Literal.string(part), expression.expression)


def _int_div(self: SparkGenerator, expression: exp.IntDiv) -> str:
    """Spark's DIV takes longs and truncates, like DataFusion's division of longs."""
    left, right = (
        self.sql(exp.cast(side.copy(), _Kind.BIGINT))
        for side in (expression.this, expression.expression)
    )
    return f"({left} / {right})"


def _count_if(self: SparkGenerator, expression: exp.CountIf) -> str:
    return f"COUNT(CASE WHEN {self.sql(expression, 'this')} THEN 1 END)"


def _regular_expression(self: SparkGenerator, expression: exp.Expr) -> str:
    return f"({self.sql(expression, 'this')} ~ {self.sql(expression, 'expression')})"


def _renamed(name: str) -> Callable[[SparkGenerator, exp.Expr], str]:
    """Return a transform for a function that only has another name."""
    return lambda self, expression: self.func(name, *expression.iter_expressions())


def _position(self: SparkGenerator, expression: exp.StrPosition) -> str:
    if expression.args.get("position") or expression.args.get("occurrence"):
        return _refuse("a search that starts in the middle")(self, expression)
    return self.func("STRPOS", expression.this, expression.args.get("substr"))


def _replace_all(self: SparkGenerator, expression: exp.RegexpReplace) -> str:
    """Spark replaces every match; the replacement must not refer to the match."""
    replacement = expression.args.get("replacement")
    if not isinstance(replacement, exp.Literal) or set("$\\") & set(replacement.name):
        return _refuse("references to a match are written differently")(self, expression)
    pattern = expression.expression
    return self.func("REGEXP_REPLACE", expression.this, pattern, replacement, "'g'")


_FORMATS = "formats of dates and times differ in DataFusion"


def _cast(self: SparkGenerator, expression: exp.Cast) -> str:
    """Write a plain cast: sqlglot's rules for casts in Spark are slow."""
    return f"CAST({self.sql(expression, 'this')} AS {self.sql(expression, 'to')})"


class DataFusion(Spark):
    """Spark SQL as DataFusion writes it."""

    INDEX_OFFSET = 1
    NULL_ORDERING = "nulls_are_large"
    TYPED_DIVISION = True

    class Tokenizer(Spark.Tokenizer):
        """Puts identifiers in double quotes."""

        IDENTIFIERS = ['"']  # noqa: RUF012  (sqlglot reads it off the class)
        QUOTES = ["'"]  # noqa: RUF012

    class Generator(SparkGenerator):
        """Writes DataFusion SQL."""

        TRY_SUPPORTED = False
        TYPE_MAPPING = {  # noqa: RUF012
            **SparkGenerator.TYPE_MAPPING,
            _Kind.TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE",
            _Kind.TIMESTAMPLTZ: "TIMESTAMP WITH TIME ZONE",
            _Kind.TIMESTAMP: "TIMESTAMP",
            _Kind.TIMESTAMPNTZ: "TIMESTAMP",
            _Kind.BINARY: "BYTEA",
        }
        TRANSFORMS = {  # noqa: RUF012
            **SparkGenerator.TRANSFORMS,
            exp.Cast: _cast,
            exp.TryCast: lambda self, e: f"TRY_CAST({self.sql(e, 'this')} AS {self.sql(e, 'to')})",
            exp.IntDiv: _int_div,
            exp.LogicalAnd: _renamed("BOOL_AND"),
            exp.LogicalOr: _renamed("BOOL_OR"),
            exp.Sign: _renamed("SIGNUM"),
            exp.StartsWith: _renamed("STARTS_WITH"),
            exp.EndsWith: _renamed("ENDS_WITH"),
            exp.StrPosition: _position,
            exp.CountIf: _count_if,
            exp.RegexpLike: _regular_expression,
            exp.RegexpReplace: _replace_all,
            exp.Initcap: _refuse("Spark and DataFusion split a text into different words"),
            exp.Extract: _extract,
            exp.Year: _date_part("year"),
            exp.Quarter: _date_part("quarter"),
            exp.Month: _date_part("month"),
            exp.Day: _date_part("day"),
            exp.DayOfMonth: _date_part("day"),
            exp.DayOfYear: _date_part("doy"),
            exp.DayOfWeek: _date_part("dow", plus=1),
            exp.WeekOfYear: _date_part("week"),
            exp.TimeToStr: _refuse(_FORMATS),
            exp.StrToTime: _refuse(_FORMATS),
            exp.StrToDate: _refuse(_FORMATS),
            exp.StrToUnix: _refuse(_FORMATS),
            exp.UnixToStr: _refuse(_FORMATS),
            exp.UnixToTime: _refuse(_FORMATS),
            exp.TsOrDsToDate: lambda self, e: (
                self.sql(exp.cast(e.this.copy(), _Kind.DATE))
                if not e.args.get("format")
                else _refuse(_FORMATS)(self, e)
            ),
            exp.TableSample: _refuse("a sample is different each time"),
            exp.ApproxQuantile: _refuse("Spark and DataFusion approximate percentiles differently"),
        }
