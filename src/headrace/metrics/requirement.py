"""What a reporter needs before it can be used: checked first, importing none of it."""

from importlib.util import find_spec

from headrace.errors import MissingExtraError


def require_prometheus() -> None:
    """Say how to install the client of Prometheus where it is not.

    Raises:
        MissingExtraError: it is not.
    """
    if find_spec("prometheus_client") is None:
        raise MissingExtraError(module="prometheus_client", extra="prometheus")


def require_opentelemetry() -> None:
    """Say how to install OpenTelemetry where it is not.

    Raises:
        MissingExtraError: it is not.
    """
    # Other packages share its name, so that the folder alone proves nothing.
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.metrics") is None:
        raise MissingExtraError(module="opentelemetry", extra="otel")
