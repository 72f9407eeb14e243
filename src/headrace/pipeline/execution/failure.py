"""What an engine says of a view that failed, without the stack traces that it adds."""

import ast
import re

from headrace.errors import FunctionFailedError, HeadraceError, InvalidFunctionError
from headrace.pipeline.runs.record import Failure

_LONGEST_TEXT = 4000
_RAISED_IN_PYTHON = re.compile(r"PyErr \{ type: .*?, value: (.*?), traceback: ", re.DOTALL)
"""How DataFusion reports an exception in a function of the project."""
_PYTHON_STACK = "Traceback (most recent call last)"
"""How Spark does."""
_OF_A_FUNCTION = re.compile(
    r"\b(FunctionFailedError|InvalidFunctionError)"
    r"(?:: (function [^\n]+)|\((['\"]function .*['\"])\))"
)
"""How either engine names an error that Headrace has raised inside it: plainly, or as Python."""
_CODES = {error.__name__: error.code for error in (FunctionFailedError, InvalidFunctionError)}


def describe_failure(error: Exception) -> Failure:
    """The failure of a view, as it is recorded."""
    if isinstance(error, HeadraceError):
        return Failure(code=error.code, text=_text(error))
    text = _text(error)
    found = _OF_A_FUNCTION.search(text)
    if found is None:
        return Failure(code=type(error).__name__, text=text)
    reason = found[2] or str(ast.literal_eval(found[3]))
    stack = f"\n{text}" if _PYTHON_STACK in text else ""
    return Failure(code=_CODES[found[1]], text=f"{reason}{stack}"[:_LONGEST_TEXT])


def _text(error: Exception) -> str:
    text = str(error).split("\n\tat ")[0].split("JVM stacktrace")[0].strip()
    raised = _RAISED_IN_PYTHON.search(text)
    if raised is not None:
        text = raised[1]
    elif _PYTHON_STACK in text:  # the exception itself comes last in a stack, and is wanted first
        lines = text.split("\n SQLSTATE")[0].strip().splitlines()
        text = f"{lines[-1]}\n{text}"
    return (text or type(error).__name__)[:_LONGEST_TEXT]
