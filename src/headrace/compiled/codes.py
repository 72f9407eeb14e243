"""Looking up verdicts on maps whose values are codes, in the form in which a page has them."""

from ctypes import c_char_p, c_int32, c_int64, c_void_p

import numpy as np
import numpy.typing as npt

from headrace.compiled.library import function

_ARGUMENTS = (c_char_p, c_int64, c_int32, c_int32, c_void_p, c_void_p, c_int64)
_MOST_BITS = 16


def coded_verdicts(
    data: bytes, bits: int, *, together: int, table: npt.NDArray[np.uint8], maps: int
) -> npt.NDArray[np.uint8] | None:
    """What a table says of each map; None where this must be found out in another way.

    A map is so many codes, of some bits each, which make up its place in the table.

    Raises:
        ValueError: the codes are damaged, or too few.
    """
    look_up = function("headrace_coded_verdicts", *_ARGUMENTS)
    width = bits * together
    if look_up is None or not 0 < width <= _MOST_BITS:
        return None
    verdicts = np.empty(maps, dtype=np.uint8)
    said = look_up(
        data, len(data), bits, width, table.ctypes.data, verdicts.ctypes.data, maps
    )
    if said < 0:
        raise ValueError("the codes are damaged, or too few")
    return verdicts
