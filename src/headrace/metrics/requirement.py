"""Checks that a reporter's client library is installed, without importing it."""

from importlib.util import find_spec

from headrace.errors import MissingExtraError


def require_prometheus() -> None:
    """Check that the Prometheus client is installed.

    Raises:
        MissingExtraError: It is not installed.
    """
    if find_spec("prometheus_client") is None:
        raise MissingExtraError(module="prometheus_client", extra="prometheus")


def require_opentelemetry() -> None:
    """Check that OpenTelemetry is installed.

    Raises:
        MissingExtraError: It is not installed.
    """
    # Other packages share its namespace, so the top-level package alone proves nothing.
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.metrics") is None:
        raise MissingExtraError(module="opentelemetry", extra="otel")
