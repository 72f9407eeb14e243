"""The id of a deletion vector is the same in a row, in a column and in an entry of the log."""

from typing import Any

import pyarrow as pa

from headrace.protocol.action import logged_vector_id, vector_id
from headrace.protocol.arrow_value import vector_ids

VECTORS = (("u", "ab^-aqEH.-t@S}K{vb[*k^", 4), ("i", "wi5b=000010000siXQKl", None), ("p", "a", 0))
NAMES = ("storageType", "pathOrInlineDv", "offset")


def test_a_column_of_ids_equals_the_ids_of_its_rows() -> None:
    storage_types, paths, offsets = zip(*VECTORS, (None, None, None), strict=True)
    ids = vector_ids(
        pa.array(storage_types, pa.string()),
        pa.array(paths, pa.string()),
        pa.array(offsets, pa.int32()),
    )
    assert ids.to_pylist() == [*(vector_id(*vector) for vector in VECTORS), None]


def test_an_entry_without_an_offset_or_a_vector_has_the_id_of_its_row() -> None:
    for vector in VECTORS:
        entry: dict[str, Any] = dict(zip(NAMES, vector, strict=True))
        if vector[2] is None:
            assert logged_vector_id({**entry, "offset": None}) == vector_id(*vector)
            del entry["offset"]
        assert logged_vector_id(entry) == vector_id(*vector)
    assert logged_vector_id(None) is None
    assert logged_vector_id(dict.fromkeys(NAMES)) is None
