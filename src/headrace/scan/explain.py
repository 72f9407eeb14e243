"""Describes the phases of a machine and their plans as text, without reading results."""

from collections.abc import Generator
from typing import TypeVar

from headrace.errors import HeadraceError
from headrace.phases.phase import Consume, Parallel, Phase, Terminus
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.plan.explain import explain_plan

T = TypeVar("T")


def explain_machine(phase: Phase[T], *, executor: Executor) -> Generator[str, None, T]:
    """Yield one text per phase, and return the terminal value.

    Consuming phases are executed, since their data decides the next phase. Partial results
    are not: the phases after them depend only on the files of the log.
    """
    engine = executor.bound(ExecutionContext())
    try:
        value: T = yield from _explain(phase, engine)
    finally:
        engine.finish()
    return value


def _explain(phase: Phase[T], engine: Executor) -> Generator[str, None, T]:
    while not isinstance(phase, Terminus):
        plan = phase.plan()
        yield f"{type(phase).__name__} ({_kind(phase)})\n{_indent(explain_plan(plan))}"
        if isinstance(phase, Consume):
            engine.begin(plan)
            engine.expect(phase.expects())
            try:
                data = list(engine.execute(plan))
            except HeadraceError as error:
                phase = phase.failed(error)
            else:
                phase = phase.next(data)
        else:
            phase = phase.next()
    return phase.value


def _kind(phase: Phase[T]) -> str:
    if isinstance(phase, Consume):
        return "consume"
    if isinstance(phase, Parallel):
        leaves = len(phase.leaves())
        return f"partial result, parallel, {leaves} {'leaf' if leaves == 1 else 'leaves'}"
    return "partial result, sequential"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
