"""What every worker gets once: a broadcast, or a part of the function where there is none."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headrace.engines.spark.worker import Shipped

T = TypeVar("T")

_PARALLELISM_OVER_CONNECT = 16
"""A thin client is not told how many cores there are."""


@dataclass(frozen=True, slots=True)
class Enclosed(Generic[T]):
    """A value that travels with the function itself, in every job."""

    value: T


def ship(session: SparkSession, value: T) -> Shipped[T]:
    """Send a value to the workers, to stay there as long as it is referred to."""
    if is_connect(session):
        return Enclosed(value)
    return session.sparkContext.broadcast(value)


@contextmanager
def shipped(session: SparkSession, value: T) -> Iterator[Shipped[T]]:
    """Send a value to the workers, and free it there at the end."""
    shipment = ship(session, value)
    try:
        yield shipment
    finally:
        if not isinstance(shipment, Enclosed):
            with suppress(Py4JError, AttributeError):  # the session may have been stopped
                shipment.destroy()  # type: ignore[attr-defined]


def is_connect(session: SparkSession) -> bool:
    """Whether the session is that of a thin client, without a JVM of its own."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def parallelism(session: SparkSession) -> int:
    """How many tasks the session may run at a time."""
    if is_connect(session):
        return _PARALLELISM_OVER_CONNECT
    return max(1, session.sparkContext.defaultParallelism)
