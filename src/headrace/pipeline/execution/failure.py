"""What an engine says of a view that failed, without the stack traces that it adds."""

import re

from headrace.errors import HeadraceError
from headrace.pipeline.runs.record import Failure

_LONGEST_TEXT = 4000
_RAISED_IN_PYTHON = re.compile(r"PyErr \{ type: .*?, value: (.*?), traceback: ", re.DOTALL)
"""How DataFusion reports an exception in a function of the project."""
_PYTHON_STACK = "Traceback (most recent call last)"
"""How Spark does."""


def describe_failure(error: Exception) -> Failure:
    """The failure of a view, as it is recorded."""
    code = error.code if isinstance(error, HeadraceError) else type(error).__name__
    return Failure(code=code, text=_text(error))


def _text(error: Exception) -> str:
    text = str(error).split("\n\tat ")[0].split("JVM stacktrace")[0].strip()
    raised = _RAISED_IN_PYTHON.search(text)
    if raised is not None:
        text = raised[1]
    elif _PYTHON_STACK in text:  # the exception itself comes last in a stack, and is wanted first
        lines = text.split("\n SQLSTATE")[0].strip().splitlines()
        text = f"{lines[-1]}\n{text}"
    return (text or type(error).__name__)[:_LONGEST_TEXT]
