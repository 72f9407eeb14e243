"""Streams an answer as an HTTP response, and stops it when the client disconnects.

An answer and a record format enter; the chunks of a response body leave.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from starlette.responses import Response

from headrace.errors import DeadlineExceededError, HeadraceError
from headrace.plan.cancellation import Cancelled
from headrace.serve.answer import Answer
from headrace.serve.monitor import Access
from headrace.serve.record_format import RecordFormat
from headrace.serve.service import Service

_logger = logging.getLogger("headrace.serve")


class AnswerResponse(Response):
    """An HTTP response that streams an answer.

    The status is sent with the first message, or at the end of an empty answer. An error before
    that sets the status; a later error breaks off the response.
    """

    def __init__(
        self,
        service: Service,
        answer: Answer,
        access: Access,
        records: RecordFormat,
        *,
        refuse: Callable[[BaseException], Response],
    ) -> None:
        """Prepare; nothing is read before the response is sent."""
        super().__init__(media_type=records.media_type)
        self._service = service
        self._answer = answer
        self._access = access
        self._records = records
        self._refuse = refuse
        self._has_started = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the answer."""
        disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            with self._service.recorded(self._access):
                await self._send_within_deadline(send, disconnect)
        except Cancelled:
            pass  # the client disconnected
        except HeadraceError as error:
            if not self._has_started:
                await self._refuse(error)(scope, receive, send)
                return
            line = self._records.fail(self._service.refusal(error))
            if not line or isinstance(error, DeadlineExceededError):
                # An unfinished response shows the client that it is incomplete.
                _logger.info("an answer was cut off: %s", error.code)
                return
            await send({"type": "http.response.body", "body": line, "more_body": False})
        finally:
            disconnect.cancel()

    async def _send_within_deadline(self, send: Any, disconnect: "asyncio.Future[None]") -> None:
        deadline_s = self._service.limits.deadline_s
        try:
            async with asyncio.timeout(deadline_s):
                await self._send_all(send, disconnect)
        except TimeoutError as error:
            raise DeadlineExceededError(deadline_s=deadline_s) from error

    async def _send_all(self, send: Any, disconnect: "asyncio.Future[None]") -> None:
        answer, records = self._answer, self._records
        with self._service.streaming(answer, self._access) as check_time:

            def check() -> None:
                if disconnect.done():
                    raise Cancelled
                check_time()

            def first() -> bytes:
                batch = self._next(check)
                head = records.begin(answer.schema)
                return head if batch is None else head + records.write(batch)

            def following() -> bytes | None:
                batch = self._next(check)
                return None if batch is None else records.write(batch)

            try:
                body: bytes | None = await asyncio.to_thread(first)
                headers = _streamed(self.raw_headers)
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                self._has_started = True
                while body is not None:
                    if body:
                        await send({"type": "http.response.body", "body": body, "more_body": True})
                    if disconnect.done():
                        raise Cancelled
                    body = await asyncio.to_thread(following)
            except asyncio.CancelledError:
                answer.stop()  # a thread may still wait for a message: end it at once
                raise
            last = records.end(answer.empty(), answer.outcome)
        await send({"type": "http.response.body", "body": last, "more_body": False})

    def _next(self, check: Callable[[], None]) -> pa.RecordBatch | None:
        try:
            return self._answer.next_message(check)
        except HeadraceError:
            check()  # if the answer was stopped, raise the reason instead
            raise


def _streamed(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers without a content length, and forbid caching."""
    kept_headers = [(name, value) for name, value in headers if name != b"content-length"]
    return [*kept_headers, (b"cache-control", b"no-store")]


async def _wait_for_disconnect(receive: Any) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
