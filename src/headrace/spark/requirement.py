"""Checks that PySpark is installed; the package imports it first, and it imports no Spark."""

from importlib.util import find_spec

from headrace.errors import MissingExtraError


def require_pyspark() -> None:
    """Check that PySpark is installed, and say how to install it if not.

    Raises:
        MissingExtraError: PySpark is not installed.
    """
    if find_spec("pyspark") is None:
        raise MissingExtraError(module="pyspark", extra="spark")
