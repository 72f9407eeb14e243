"""Checks that the packages for planning are installed, without importing them."""

from importlib.util import find_spec

from headrace.errors import MissingExtraError


def require_planner() -> None:
    """Check that the extra `pipeline` is installed.

    Raises:
        MissingExtraError: a package is missing; the error says how to install it.
    """
    for module in ("datafusion", "deltalake", "substrait"):
        if find_spec(module) is None:
            raise MissingExtraError(module=module, extra="pipeline")
