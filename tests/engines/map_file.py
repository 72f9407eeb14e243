"""Write a Parquet file whose adds have partition values alone."""

from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MAP = pa.map_(pa.string(), pa.string())
NO_ADD = "no add"


def written(maps: list[Any], **writer: Any) -> BytesIO:
    """Write a row for each map; a `NO_ADD` row holds another action."""
    is_add = [entries is not NO_ADD for entries in maps]
    column = pa.array(
        [entries if own else None for entries, own in zip(maps, is_add, strict=True)], MAP
    )
    add = pa.StructArray.from_arrays(
        [column], ["partitionValues"], mask=pa.array([not own for own in is_add])
    )
    file = BytesIO()
    pq.write_table(pa.table({"add": add}), file, **writer)
    return file
