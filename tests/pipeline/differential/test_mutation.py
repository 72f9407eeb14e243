"""A broken catalogue entry is detected: each of these is broken on purpose."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.pipeline.translation.catalogue.entry import by_native
from headrace.pipeline.translation.catalogue.table import SCALAR
from headrace.pipeline.translation.kernel import KernelCall, replace_kernel
from headrace.pipeline.translation.refusal import Refused
from tests.pipeline.differential.engine import Prepared, Tally, prepare, spark_rows_together
from tests.pipeline.differential.spark_example import spark_examples

Break = Callable[[pa.Array], pa.Array]


def one_more(values: pa.Array) -> pa.Array:
    return pc.add(values, pa.scalar(1, values.type))


def backwards(texts: pa.Array) -> pa.Array:
    return pc.utf8_reverse(texts)


def opposite(truths: pa.Array) -> pa.Array:
    return pc.invert(truths)


def nothing(values: pa.Array) -> pa.Array:
    return pa.nulls(len(values), values.type)


KERNELS: list[tuple[str, str, Break]] = [
    ("substring", "substring", backwards),
    ("date_field", "dayofweek", one_more),
    ("position", "instr", one_more),
    ("divide", "/", pc.floor),
    ("text_to_integer", "cast", one_more),
    ("array_contains", "array_contains", opposite),
    ("add_months", "add_months", nothing),
    ("regexp_replace", "regexp_replace", backwards),
    ("trim", "trim", backwards),
    ("decimal_round", "round", nothing),
    ("array_sort", "array_sort", nothing),
]


@pytest.fixture(scope="module")
def answers(spark: Any) -> dict[str, list[tuple[str, Any]]]:
    """Return some examples of each function, with Spark's rows."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    functions = {function for _, function, _ in KERNELS} | {"upper"}
    chosen: list[tuple[str, str]] = []
    for name, sql in spark_examples(session, sorted(functions)):
        try:
            Prepared(sql, {})
        except Refused:
            continue
        chosen.append((name, sql))
    rows = spark_rows_together(session, [sql for _, sql in chosen])
    examples: dict[str, list[tuple[str, Any]]] = {}
    for (name, sql), theirs in zip(chosen, rows, strict=True):
        examples.setdefault(name, []).append((sql, theirs))
    return examples


def tally_of(examples: list[tuple[str, Any]]) -> Tally:
    tally = Tally()
    for sql, theirs in examples:
        tally.count(sql, prepare(sql, {}).rows(), theirs)
    return tally


@pytest.fixture
def broken(request: pytest.FixtureRequest) -> Iterator[str]:
    kernel, function, spoil = request.param

    def compute(call: KernelCall, *arrays: pa.Array) -> pa.Array:
        return spoil(before(call, *arrays))

    before = replace_kernel(kernel, compute)
    yield function
    replace_kernel(kernel, before)


@pytest.mark.parametrize("broken", KERNELS, ids=[name for name, _, _ in KERNELS], indirect=True)
def test_a_broken_kernel_is_found(broken: str, answers: dict[str, list[tuple[str, Any]]]) -> None:
    assert tally_of(answers[broken]).different


def test_a_broken_translation_is_found(answers: dict[str, list[tuple[str, Any]]]) -> None:
    entries = SCALAR.by_name["upper"]
    good = entries[0]
    entries[0] = by_native("upper", "STRING", pa.string(), "lower({0})")
    try:
        assert tally_of(answers["upper"]).different
    finally:
        entries[0] = good


@pytest.mark.parametrize("function", sorted({function for _, function, _ in KERNELS}))
def test_the_same_examples_are_equal_without_a_mutation(
    function: str, answers: dict[str, list[tuple[str, Any]]]
) -> None:
    assert tally_of(answers[function]).different == []
