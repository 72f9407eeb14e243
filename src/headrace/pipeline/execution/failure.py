"""Extracts the failure of a view from a runner's exception, without its stack traces.

An exception of Spark or DataFusion contains the actual error deep in its text; a code and a
readable text leave, which are recorded.
"""

import ast
import re

from headrace.errors import FunctionFailedError, HeadraceError, InvalidFunctionError
from headrace.pipeline.runs.run_record import Failure

_MAX_CHARACTERS = 4000
_RAISED_IN_PYTHON = re.compile(r"PyErr \{ type: .*?, value: (.*?), traceback: ", re.DOTALL)
"""How DataFusion reports an exception in a function of the project."""
_PYTHON_STACK = "Traceback (most recent call last)"
"""How Spark reports one."""
_FUNCTION_ERROR = re.compile(
    r"\b(FunctionFailedError|InvalidFunctionError)"
    r"(?:: (function [^\n]+)|\((['\"]function .*['\"])\))"
)
"""How either runner reports a Headrace error from a function: as text, or as a Python repr."""
_CODES = {error.__name__: error.code for error in (FunctionFailedError, InvalidFunctionError)}


def describe_failure(error: Exception) -> Failure:
    """Return the failure of a view as it is recorded."""
    if isinstance(error, HeadraceError):
        return Failure(code=error.code, text=_text(error))
    text = _text(error)
    match = _FUNCTION_ERROR.search(text)
    if match is None:
        return Failure(code=type(error).__name__, text=text)
    reason = match[2] or str(ast.literal_eval(match[3]))
    stack = f"\n{text}" if _PYTHON_STACK in text else ""
    return Failure(code=_CODES[match[1]], text=f"{reason}{stack}"[:_MAX_CHARACTERS])


def _text(error: Exception) -> str:
    text = str(error).split("\n\tat ")[0].split("JVM stacktrace")[0].strip()
    raised = _RAISED_IN_PYTHON.search(text)
    if raised is not None:
        text = raised[1]
    elif _PYTHON_STACK in text:  # the exception is the last line of a stack; put it first
        lines = text.split("\n SQLSTATE")[0].strip().splitlines()
        text = f"{lines[-1]}\n{text}"
    return (text or type(error).__name__)[:_MAX_CHARACTERS]
