"""What pipelines need before they can be planned: checked first, importing none of it."""

from importlib.util import find_spec

from headrace.errors import MissingExtraError


def require_planner() -> None:
    """Say how to install the planner where it is not.

    Raises:
        MissingExtraError: it is not.
    """
    for module in ("datafusion", "deltalake", "substrait"):
        if find_spec(module) is None:
            raise MissingExtraError(module=module, extra="pipeline")
