"""Gives the entries of any manifest the names of our fields, and the required fields they lack.

Another writer may have renamed a field, keeping its id, or know fewer fields. Maintenance works
with our names; unknown fields keep theirs.
"""

from typing import Any

from headrace.avro.container import Header
from headrace.avro.field import file_field_names, our_field
from headrace.errors import CorruptStateError
from headrace.maintain.entry_schema import check_types
from headrace.protocol.state import Entry

INHERITED_VERSION = 0
"""The `addedAtVersion` of an entry whose version is that of the first state to reference it."""

ENTRY_DEFAULTS: dict[str, Any] = {
    "partitionValues": {},
    "modificationTime": 0,
    "dataChange": True,
    "hasFooterOffsets": False,
    "addedAtVersion": INHERITED_VERSION,
    "addedAtTimestamp": 0,
}
"""The values of required fields that an entry may lack."""
_INDISPENSABLE = ("path", "size")


class EntryReading:
    """Converts the entries of one file."""

    def __init__(self, header: Header) -> None:
        """Match the fields of a file.

        Raises:
            CorruptStateError: it lacks the paths or the sizes, or a field has another type.
        """
        check_types(header)
        schema = header.schema
        names = file_field_names(schema)
        for name in _INDISPENSABLE:
            if name not in names:
                raise CorruptStateError(path=header.path, reason=f"its entries have no {name}")
        types = {field["name"]: field["type"] for field in schema["fields"]}
        self._our_names = {theirs: ours for ours, theirs in names.items()}
        self._is_unchanged = all(ours == theirs for ours, theirs in names.items()) and all(
            name in names and not isinstance(types[names[name]], list) for name in ENTRY_DEFAULTS
        )

    def converted(self, entries: list[Entry]) -> list[Entry]:
        """Return the entries by our names, with every required field."""
        return entries if self._is_unchanged else [self._converted(entry) for entry in entries]

    def _converted(self, entry: Entry) -> Entry:
        known = {
            self._our_names.get(name, name): value
            for name, value in entry.items()
            if name in self._our_names or our_field(name) is None
        }
        absent = {n: default for n, default in ENTRY_DEFAULTS.items() if known.get(n) is None}
        return {**known, **absent}
