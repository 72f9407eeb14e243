"""Check an answer. A wrong answer ends the benchmark, because its time means nothing."""

from typing import Any

from benchmarks.consumption import Audit, Consumption
from benchmarks.question import Ask, Question
from benchmarks.truth import Truth

OTHER_ACTIONS = 3
"""Checkpoint rows that are not files: protocol, metadata, a transaction."""


class WrongAnswerError(Exception):
    """An answer that does not match the truth."""


def check_answer(answer: Any, question: Question, truth: Truth) -> None:
    """Compare an answer with the truth of its lake.

    Raises:
        WrongAnswerError: They differ.
    """
    match question.ask:
        case Ask.LIMIT:
            _check_paths(answer, question, truth, question.limit)
        case Ask.PARTITION:
            requested_partition = (question.date, question.region)
            partition = next(
                p for p in truth.partitions if (p.date, p.region) == requested_partition
            )
            _check_paths(answer, question, truth, partition.tally.count)
        case Ask.COUNT | Ask.PATHS:
            _expect("files", answer, truth.live.count)
        case Ask.PREDICATE:
            _expect("files that may match", answer, truth.matching)
        case Ask.BATCHES:
            _check_stream(answer, truth)


def check_floor(rows: int, truth: Truth) -> None:
    """Make sure that a floor has read the whole checkpoint.

    Raises:
        WrongAnswerError: It has not.
    """
    whole = truth.parameters.files + truth.parameters.tombstones + OTHER_ACTIONS
    _expect("rows of the checkpoint", rows, whole)


def _check_paths(paths: list[str], question: Question, truth: Truth, count: int) -> None:
    _expect("files", len(paths), count)
    requested_partition = (
        (question.date, question.region) if question.ask is Ask.PARTITION else None
    )
    partition = next(
        (p for p in truth.partitions if (p.date, p.region) == requested_partition), None
    )
    relative = [path.removeprefix(f"{question.table}/") for path in paths]
    try:
        truth.check_paths(relative, partition=partition)
    except ValueError as error:
        raise WrongAnswerError(str(error)) from error


def _check_stream(stream: Consumption, truth: Truth) -> None:
    _expect("files", stream.rows, truth.live.count)
    _expect("bytes", stream.size_bytes, truth.live.size_bytes)
    if not isinstance(stream, Audit):
        return
    _expect("digest", stream.tally.digest, truth.live.digest)
    if stream.records is not None:
        _expect("records", stream.records, truth.records)
    if stream.statistics_bytes is not None:
        _expect("bytes of statistics", stream.statistics_bytes, truth.statistics_bytes)


def _expect(measure: str, actual: int, expected: int) -> None:
    if actual != expected:
        raise WrongAnswerError(f"{measure}: {actual}, but {expected} is right")
