"""Wait for the answers of a remote store and read their bodies.

A small body is one step, which must end within the timeout. On a slow line a large one may take
longer although its bytes keep arriving. So once a body was late, large ones are read in parts, and
the timeout applies to each part. That costs a copy, which a fast line does not pay.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

from headrace.storage.byte_range import Bytes
from headrace.storage.call import Call

T = TypeVar("T")

_PART_BYTES = 1 << 20
_MAX_STEP_BYTES = 8 << 20
"""A larger body is always read in parts."""


async def wait_for_answer(answer: Awaitable[T], call: Call) -> T:
    """Wait for one answer, at most as long as the call allows."""
    return await asyncio.wait_for(answer, call.timeout_s())


class BodyReader:
    """Reads the bodies of the answers of one store."""

    def __init__(self) -> None:
        self._was_late = False

    async def read(self, answer: Any, size_bytes: int, call: Call) -> Bytes:
        """Return the body of an answer, whose size is about `size_bytes`.

        Raises:
            TimeoutError: the body, or the next part of it, is late.
        """
        is_large = size_bytes > _PART_BYTES
        if size_bytes > _MAX_STEP_BYTES or (is_large and self._was_late):
            return b"".join([part async for part in _parts(answer, call)])
        try:
            return memoryview(await wait_for_answer(answer.bytes_async(), call))
        except TimeoutError:
            self._was_late |= is_large
            raise


async def _parts(answer: Any, call: Call) -> AsyncIterator[Any]:
    stream = answer.stream(min_chunk_size=_PART_BYTES)
    longest_s = call.timeout_s()
    while (part := await asyncio.wait_for(anext(stream, None), longest_s)) is not None:
        yield part
        # Bytes are arriving, so the deadline, which ends attempts that hang, has been met.
        longest_s = call.timeout_ms / 1000
