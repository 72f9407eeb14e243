"""A background call runs once and is waited for, even if its start is interrupted."""

import os
import threading
from collections.abc import Callable

import pytest

from headrace.engines.background import Background
from headrace.errors import ReaderClosedError

START = threading.Thread.start


class Signal(BaseException):
    """An exception that a signal handler may raise at any point."""


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes the next thread start raise after the thread is running."""

    def interrupted(thread: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "start", START)
        START(thread)
        raise Signal

    return lambda: monkeypatch.setattr(threading.Thread, "start", interrupted)


def test_a_call_whose_start_was_interrupted_runs_once(interrupt: Callable[[], None]) -> None:
    calls: list[str] = []
    work = Background(lambda: calls.append(threading.current_thread().name), name="worker")
    interrupt()
    with pytest.raises(Signal):
        work.start()
    work.start()
    work.wait()
    assert calls == ["worker"]


def test_a_call_whose_start_was_interrupted_is_waited_for(interrupt: Callable[[], None]) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        go_on.wait(30)
        ended.set()

    work = Background(call, name="worker")
    interrupt()
    with pytest.raises(Signal):
        work.start()
    assert begun.wait(30)
    assert not work.is_over()
    go_on.set()
    work.wait()
    assert ended.is_set()


def test_a_call_that_is_awaited_before_its_start_never_runs() -> None:
    calls: list[str] = []
    work = Background(lambda: calls.append("made"), name="worker")
    work.wait()
    work.start()
    work.wait()
    assert calls == []


def test_a_call_does_not_wait_for_itself() -> None:
    def call() -> None:
        work.wait()

    work = Background(call, name="worker")
    work.start()
    work.wait()
    assert work.is_over()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # about forking with threads
def test_a_forked_process_gets_an_error_for_the_call_of_its_parent() -> None:
    go_on = threading.Event()

    def call() -> None:
        go_on.wait(30)

    work = Background(call, name="worker")
    work.start()
    child = os.fork()
    if not child:
        work.wait()  # there is nothing to wait for
        try:
            work.start()
        except ReaderClosedError:
            os._exit(7 if work.is_over() else 2)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    go_on.set()
    work.wait()
    assert os.waitstatus_to_exitcode(status) == 7
