"""The start of the JVM, with a process that stands in for it."""

import signal
import subprocess
import threading
from _thread import interrupt_main
from typing import Any

import pyspark.java_gateway as gateway_module
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace.spark import own_jvm


def test_an_interrupted_start_kills_the_jvm_and_keeps_the_callers_handler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_gateway", "_jvm", "_active_spark_context"):
        monkeypatch.setattr(SparkContext, name, None)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    monkeypatch.setattr(own_jvm, "_launch", None)
    module: Any = gateway_module
    processes: list[subprocess.Popen[bytes]] = []

    def create() -> SparkSession:
        processes.append(module.Popen(["sleep", "60"], stdin=subprocess.DEVNULL))
        threading.Timer(0.1, interrupt_main).start()
        processes[0].wait()
        raise RuntimeError("the JVM has ended")

    popen, handler = module.Popen, signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        own_jvm.start_session(create)
    assert processes[0].returncode == -signal.SIGKILL
    assert module.Popen is popen
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_error_of_the_start_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(own_jvm, "_launch", None)

    def create() -> SparkSession:
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        own_jvm.start_session(create)
