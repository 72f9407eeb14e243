"""The root of all errors: a stable code, the facts as fields, a text with the next step."""

from collections.abc import Iterable
from typing import Any, ClassVar


class HeadraceError(Exception):
    """The base class of everything that Headrace raises on purpose."""

    code: ClassVar[str] = "HEADRACE"

    @property
    def fields(self) -> dict[str, Any]:
        """The facts that the text was made from, by name."""
        return dict(self.__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by fields, so that an error keeps them when it crosses processes."""
        return _rebuild, (type(self), self.args, self.__dict__)


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
