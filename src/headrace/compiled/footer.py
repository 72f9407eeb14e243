"""Read the footers of small Parquet files, and append their rows to columns, by compiled loops.

The bytes of a file enter; the locations of its chunks leave, or a status if the file is unusual.
"""

from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int64, c_void_p
from typing import Any

from headrace.compiled.columns import Batch, Column
from headrace.compiled.library import function


class Place(Structure):
    """The location of a column chunk, as `headrace_place` in kernels.h."""

    _fields_ = (
        ("type", c_int64),
        ("codec", c_int64),
        ("values", c_int64),
        ("size_bytes", c_int64),
        ("data_at", c_int64),
        ("dictionary_at", c_int64),
    )


class Footer(Structure):
    """The contents of a footer, as `headrace_footer` in kernels.h."""

    _fields_ = (
        ("schema_at", c_int64),
        ("schema_size", c_int64),
        ("notes_at", c_int64),
        ("notes_size", c_int64),
        ("writer_at", c_int64),
        ("writer_size", c_int64),
        ("rows", c_int64),
        ("columns", c_int64),
        ("places", POINTER(Place)),
        ("most_places", c_int64),
    )

    @classmethod
    def for_columns(cls, most: int) -> "Footer":
        """Return a footer with room for `most` columns."""
        return cls(places=(Place * most)(), most_places=most)

    def kind(self, file: bytes) -> tuple[bytes, bytes, bytes]:
        """Return what determines how columns are read: schema, key-value metadata and writer."""
        return (
            file[self.schema_at : self.schema_at + self.schema_size],
            file[self.notes_at : self.notes_at + self.notes_size],
            file[self.writer_at : self.writer_at + self.writer_size],
        )


class Appending(Structure):
    """Columns to which files are appended, as `headrace_appending` in kernels.h."""

    _fields_ = (
        ("count", c_int64),
        ("leaf_columns", c_void_p),
        ("columns", POINTER(Column)),
        ("batches", POINTER(Batch)),
        ("column", c_int64),
        ("is_begun", c_int64),
    )


def footer_loop() -> Callable[[bytes, int, Any], int] | None:
    """Return the loop that reads the footer of a file's bytes; it returns 0 if it declines."""
    return function("headrace_read_footer", c_char_p, c_int64, POINTER(Footer))


def append_loop() -> Callable[[bytes, int, Any, Any], int] | None:
    """Return the loop that appends the rows of a file; it returns a `Status`."""
    return function("headrace_append_file", c_char_p, c_int64, POINTER(Footer), POINTER(Appending))
