"""The root of all errors: a stable code, the facts as fields, a text with the next step."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar

_QUERY = re.compile(r"(https?://[^\s?]+\?)\S*?(?=[:;,]?(?:\s|$))")
"""The query of a web address, which is often the signature that grants access to it."""


class HeadraceError(Exception):
    """The base class of everything that Headrace raises on purpose."""

    code: ClassVar[str] = "HEADRACE"

    def __init__(self, *args: Any) -> None:
        super().__init__(*map(_without_queries, args))

    @property
    def fields(self) -> dict[str, Any]:
        """The facts that the text was made from, by name."""
        return {name: _without_queries(value) for name, value in self.__dict__.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by fields, so that an error keeps them when it crosses processes."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _without_queries(value: Any) -> Any:
    """Hide the queries of web addresses in a text: a log may name files by signed addresses."""
    return _QUERY.sub(r"\1…", value) if isinstance(value, str) else value


def _rebuild(
    kind: type[HeadraceError], args: tuple[Any, ...], fields: dict[str, Any]
) -> HeadraceError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


def versions(ranges: Iterable[range]) -> str:
    """Write 3, 4, 5 and 9 as "3 to 5, 9"."""
    return ", ".join(
        str(span.start) if len(span) == 1 else f"{span.start} to {span.stop - 1}" for span in ranges
    )
