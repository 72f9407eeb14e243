"""What a footer may say that is not so."""

from typing import Any


class Damaged:
    """The metadata of a chunk in which some number is another one."""

    def __init__(self, chunk: Any, name: str, number: int) -> None:
        self._chunk, self._name, self._number = chunk, name, number

    def __getattr__(self, name: str) -> Any:
        return self._number if name == self._name else getattr(self._chunk, name)
