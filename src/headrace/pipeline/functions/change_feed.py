"""The kinds of change in Delta's change data feed (`_change_type`)."""

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.functions.declaration import function

_KINDS = pa.array(["update_preimage", "delete", "insert", "update_postimage"])
"""In the order of their ranks, from 0."""
_DELETE, _INSERT = 1, 2


@function("STRING", returns="INT")
def cdf_change_rank(kinds: pa.Array) -> pa.Array:
    """The rank of a change among those of one row and version; the highest is the final state.

    update_preimage 0, delete 1, insert 2, update_postimage 3; -1 for any other string.
    """
    known = pc.index_in(pc.utf8_lower(pc.utf8_trim_whitespace(kinds)), value_set=_KINDS)
    ranks = pc.fill_null(known, -1)
    return pc.if_else(pc.is_null(kinds), pa.scalar(None, pa.int32()), ranks)


@function("STRING", returns="BOOLEAN")
def cdf_is_upsert(kinds: pa.Array) -> pa.Array:
    """Whether a change leaves a row: an insert, or the new values of an update."""
    return pc.greater_equal(cdf_change_rank.kernel(kinds), _INSERT)


@function("STRING", returns="BOOLEAN")
def cdf_is_delete(kinds: pa.Array) -> pa.Array:
    """Whether a change deletes a row."""
    return pc.equal(cdf_change_rank.kernel(kinds), _DELETE)
