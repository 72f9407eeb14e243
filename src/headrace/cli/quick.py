"""Parses plain command lines without Typer, which takes long to import.

It reads Typer's own declarations from the signature of a command, and accepts only unambiguous
input: known options with well-formed values, and the expected number of arguments. For anything
else, such as help and usage errors, it returns None and Typer takes over.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from typer.models import ArgumentInfo, OptionInfo


class _NeedsTyper(Exception):  # noqa: N818  (it never leaves this module)
    """Raised for arguments that Typer has to parse."""


class _Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a command that plain arguments can set."""

    name: str
    info: ArgumentInfo | OptionInfo
    kind: Any
    """The type of a single value."""
    is_list: bool
    is_required: bool

    def value(self, text: str) -> Any:
        """Convert an argument to a value."""
        if self.kind is str:
            return text
        if self.kind is int and text.isascii() and text.isdecimal():
            number = int(text)
            if self.info.max is None and number >= (self.info.min or 0):
                return number
        if isinstance(self.kind, type) and issubclass(self.kind, Enum):
            for member in self.kind:
                if member.value == text:
                    return member
        raise _NeedsTyper


def parse_words(command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments of a command; None if Typer has to parse them."""
    try:
        return _WordParser(_parameters(command), words).parse()
    except _NeedsTyper:
        return None


class _WordParser:
    """Assigns the words of a command line to the parameters of a command."""

    def __init__(self, parameters: Sequence[_Parameter], words: Sequence[str]) -> None:
        self._words = iter(words)
        self._required = {p.name for p in parameters if p.is_required}
        self._arguments = [p for p in parameters if isinstance(p.info, ArgumentInfo)]
        self._options = {
            spelling: parameter
            for parameter in parameters
            if isinstance(parameter.info, OptionInfo)
            for spelling in _spellings(parameter.info)
        }
        self._values: dict[str, Any] = {}

    def parse(self) -> dict[str, Any]:
        arguments = iter(self._arguments)
        for word in self._words:
            if word.startswith("-"):
                self._take_option(word)
                continue
            argument = next(arguments, None)
            if argument is None:
                raise _NeedsTyper
            self._values[argument.name] = argument.value(word)
        if not self._required.issubset(self._values):
            raise _NeedsTyper
        return self._values

    def _take_option(self, word: str) -> None:
        parameter = self._options.get(word)
        if parameter is None:
            raise _NeedsTyper
        if parameter.kind is bool:
            self._values[parameter.name] = True
            return
        text = next(self._words, None)
        if text is None or text.startswith("-"):
            raise _NeedsTyper
        value = parameter.value(text)
        if parameter.is_list:
            self._values.setdefault(parameter.name, []).append(value)
        else:
            self._values[parameter.name] = value


def _spellings(info: OptionInfo) -> Iterator[str]:
    """Return the spellings of an option; Typer stores the first one as its default."""
    spellings: tuple[Any, ...] = (info.default, *(info.param_decls or ()))
    yield from (spelling for spelling in spellings if "/" not in str(spelling))


def _parameters(command: Callable[..., Any]) -> list[_Parameter]:
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    return [_parameter(p, hints[name]) for name, p in signature.parameters.items()]


def _parameter(parameter: inspect.Parameter, hint: Any) -> _Parameter:
    if get_origin(hint) is not Annotated:
        raise _NeedsTyper
    kind, info = get_args(hint)
    if get_origin(kind) is UnionType:
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    is_list = get_origin(kind) is list
    if is_list:
        (kind,) = get_args(kind)
    if info.callback is not None or info.envvar is not None or info.parser is not None:
        raise _NeedsTyper
    return _Parameter(
        name=parameter.name,
        info=info,
        kind=kind,
        is_list=is_list,
        is_required=parameter.default is inspect.Parameter.empty,
    )
