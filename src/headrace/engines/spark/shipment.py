"""What every worker gets once: a broadcast, or a part of the function where there is none."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

import msgspec
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headrace.engines.spark.session import is_connect
from headrace.engines.spark.worker import Shipped

T = TypeVar("T")


class Enclosed(msgspec.Struct, Generic[T], frozen=True):
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
