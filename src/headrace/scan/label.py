"""Labels a list of files, so that it is not mistaken for another one.

The label is in the schema metadata of every batch, which Arrow preserves in tables and files. If
the label of a list is lost, the caller's description of the list is trusted.
"""

from collections.abc import Mapping
from typing import Self

import msgspec

_KEY = b"headrace.files"


class ListLabel(msgspec.Struct, frozen=True, kw_only=True):
    """Identifies the table and the files of a list."""

    table_id: str
    root: str
    """The address of the table, which is a prefix of the addresses of its files."""
    version: int
    where: str | None
    """The condition of the scan."""
    limit: int | None
    """The maximum number of files."""

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> Self | None:
        """Return the label in the metadata of a schema, if there is one.

        Raises:
            ValueError: the label cannot be decoded.
        """
        text = (metadata or {}).get(_KEY)
        return None if text is None else msgspec.json.decode(text, type=cls)

    def to_metadata(self) -> dict[bytes, bytes]:
        """Encode the label as schema metadata."""
        return {_KEY: msgspec.json.encode(self)}

    def difference(self, expected: "ListLabel") -> str | None:
        """Describe the first difference from the expected label; None if they are equal."""
        for name in self.__struct_fields__:
            value, expected_value = getattr(self, name), getattr(expected, name)
            if value != expected_value:
                return f"its {name} is {value!r}, not {expected_value!r}"
        return None
