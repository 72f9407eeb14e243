"""Sends a value to every worker: as a broadcast, or as part of the function on Spark Connect."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

import msgspec
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headrace.engines.spark.any_session import is_connect
from headrace.engines.spark.worker import Shipped

T = TypeVar("T")


class Enclosed(msgspec.Struct, Generic[T], frozen=True):
    """A value that is sent with the function, in every job."""

    value: T


def ship(session: SparkSession, value: T) -> Shipped[T]:
    """Send a value to the workers, where it stays as long as it is referenced."""
    if is_connect(session):
        return Enclosed(value)
    return session.sparkContext.broadcast(value)


@contextmanager
def shipped(session: SparkSession, value: T) -> Iterator[Shipped[T]]:
    """Send a value to the workers, and free it at the end."""
    shipment = ship(session, value)
    try:
        yield shipment
    finally:
        if not isinstance(shipment, Enclosed):
            with suppress(Py4JError, AttributeError):  # the session may have been stopped
                shipment.destroy()  # type: ignore[attr-defined]
