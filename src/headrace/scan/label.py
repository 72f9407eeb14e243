"""What a list of files says of itself, so that it is not taken for another one.

It stands in the metadata of every batch's schema, which Arrow keeps on the way through tables and
files. A list whose label was lost is still a list: what its holder says of it is then believed.
"""

from collections.abc import Mapping
from typing import Self

import msgspec

_KEY = b"headrace.files"


class ListLabel(msgspec.Struct, frozen=True, kw_only=True):
    """Whose files a list has, and which of them."""

    table_id: str
    root: str
    """Where the table is; the addresses of its files begin with it."""
    version: int
    where: str | None
    """The condition that they were listed under."""
    limit: int | None
    """How many files there are at most."""

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> Self | None:
        """The label of a schema with such metadata, if it has one.

        Raises:
            ValueError: it has one that cannot be read.
        """
        text = (metadata or {}).get(_KEY)
        return None if text is None else msgspec.json.decode(text, type=cls)

    def to_metadata(self) -> dict[bytes, bytes]:
        """How a schema says it."""
        return {_KEY: msgspec.json.encode(self)}

    def difference(self, expected: "ListLabel") -> str | None:
        """The first thing in which this list is not the one that was expected."""
        for name in self.__struct_fields__:
            own, wanted = getattr(self, name), getattr(expected, name)
            if own != wanted:
                return f"its {name} is {own!r}, not {wanted!r}"
        return None
