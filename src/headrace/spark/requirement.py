"""What the room needs before it can be entered: imported first, and importing no Spark."""

from importlib.util import find_spec

from headrace.errors import MissingExtraError


def require_pyspark() -> None:
    """Say how to install PySpark where it is not.

    Raises:
        MissingExtraError: it is not.
    """
    if find_spec("pyspark") is None:
        raise MissingExtraError(module="pyspark", extra="spark")
