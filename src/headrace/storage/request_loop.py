"""Run the requests of remote stores so that each can be cancelled.

One thread of the process runs an event loop; callers in any thread wait for its answers.
Cancelling a request closes its connection at once.
"""

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError
from contextvars import Context
from typing import Any, TypeVar

from headrace.errors import StoreFailedError
from headrace.storage.call import current_call

T = TypeVar("T")

_PATIENCE_S = 2.0
_AFTER_CANCEL_S = 0.05


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that tracks which other threads are handing it an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.inside: dict[int, None] = {}

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Take an answer; the client's thread counts as inside until it holds the GIL again."""
        thread = threading.get_ident()
        self.inside[thread] = None
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        # This must be the last step, and it lets no other thread run: see `RequestLoop.close`.
        del self.inside[thread]
        return handle


class RequestLoop:
    """An event loop in its own thread."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._loop = _Loop()
        self._cancelled_at = 0.0
        name = "object-store-requests"
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def close(self) -> None:
        """Stop the loop when the process exits.

        A client thread that requests the GIL while the interpreter shuts down kills the process
        with a signal. So this waits for every thread that is handing over an answer.
        """
        if self.process != os.getpid():
            return
        until = time.monotonic() + _PATIENCE_S
        self._loop.call_soon_threadsafe(self._cancel_all)
        self._thread.join(_PATIENCE_S)
        while self._loop.inside and time.monotonic() < until:
            time.sleep(0.001)
        if time.monotonic() - self._cancelled_at < _PATIENCE_S:
            time.sleep(_AFTER_CANCEL_S)

    def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._cancelled_at = time.monotonic()
            self._loop.call_later(_AFTER_CANCEL_S, self._loop.stop)
        else:
            self._loop.stop()

    def run(self, request: Coroutine[Any, Any, T]) -> T:
        """Run a request and return its result, unless this thread's current call is stopped.

        Raises:
            BaseException: whatever the request raised, or whatever stopping the call raises.
        """
        stop = current_call().stop
        answer = asyncio.run_coroutine_threadsafe(_noted(request), self._loop)
        forget = None if stop is None else stop.on_request(answer.cancel)
        try:
            return answer.result()
        except CancelledError:
            self._cancelled_at = time.monotonic()
            if stop is not None:
                stop.check()
            raise
        except BaseException:
            if answer.cancel():
                self._cancelled_at = time.monotonic()
            raise
        finally:
            if forget is not None:
                forget()


async def all_of(requests: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run requests together and return their results; if one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(request) for request in requests]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        raise


async def _noted(request: Coroutine[Any, Any, T]) -> T:
    """Run a request whose failure nobody may be waiting for: it was cancelled just before."""
    task = asyncio.current_task()
    assert task is not None
    task.add_done_callback(_note_failure)
    return await request


def _note_failure(task: "asyncio.Task[Any]") -> None:
    """Look at the failure, since asyncio prints one that nobody has looked at."""
    if not task.cancelled():
        task.exception()


_LOCK = threading.Lock()
_LOOPS: dict[int, RequestLoop] = {}


def request_loop() -> RequestLoop:
    """Return the loop of this process.

    Raises:
        StoreFailedError: this process was forked from one that has sent requests. The threads of
            the client do not exist here, so no request would ever be answered.
    """
    process = os.getpid()
    loop = _LOOPS.get(process)
    if loop is None:
        if _LOOPS:
            reason = (
                "this process was forked after its parent had used a store; start it with the "
                "method spawn or forkserver"
            )
            raise StoreFailedError(path="", reason=reason, transient=False)
        with _LOCK:
            loop = _LOOPS.setdefault(process, _LOOPS.get(process) or RequestLoop())
    return loop
