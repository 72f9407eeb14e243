"""Creates sessions with sensible defaults, and checks existing sessions.

`local` and `open_session` create a session if none is running. `attach` takes an existing session
and does not change it. All return a plain `SparkSession`.
"""

import os
import re
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.engines.spark.any_session import is_connect
from headrace.errors import InvalidArgumentError, SessionError
from headrace.spark.launch import LOCAL_ENVIRONMENT, connect_client, launch_driver

_OLDEST = (4, 0)
_LOCAL = re.compile(r"local(\[.*\])?")

_SESSION_DEFAULTS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
_DRIVER_DEFAULTS = {
    **_SESSION_DEFAULTS,
    "spark.ui.showConsoleProgress": "false",  # it would overwrite Headrace's progress bar
}
_LOCAL_DRIVER_DEFAULTS = {
    **_DRIVER_DEFAULTS,
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Spark gives a Python worker 15 s to connect, which is too short for a busy machine.
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.ui.enabled": "false",
}
_requested_settings: WeakKeyDictionary[SparkSession, Mapping[str, str]] = WeakKeyDictionary()
"""The settings that sessions were created with; a server does not report its own address."""


def local(*, cores: int | None = None, memory: str | None = None, **settings: Any) -> SparkSession:
    """Return a local Spark: no web UI, no open port, times in UTC, Arrow for data exchange.

    Args:
        cores: The number of tasks that run at a time; by default one per core.
        memory: The heap, such as `2g`; by default a quarter of the memory, from 1 to 8 GB.
        settings: Spark settings by name: `local(**{"spark.sql.shuffle.partitions": 4})`.

    Raises:
        JavaNotFoundError: there is no Java, and none was installed with Headrace.
        SessionError: a session with other settings is already running.
    """
    requested = _spark_settings(settings)
    if cores is not None:
        requested["spark.master"] = f"local[{cores}]"
    if memory is not None:
        requested["spark.driver.memory"] = memory
    running = _running_session()
    if running is not None:
        return _check_running(running, requested)
    tasks = cores or os.cpu_count() or 1
    defaults = {
        **_LOCAL_DRIVER_DEFAULTS,
        "spark.driver.memory": f"{_heap_megabytes()}m",
        "spark.master": "local[*]",
        "spark.sql.shuffle.partitions": str(max(8, 2 * tasks)),
    }
    return _remember_settings(launch_driver(defaults | requested, LOCAL_ENVIRONMENT), requested)


def open_session(
    *, master: str | None = None, remote: str | None = None, **settings: Any
) -> SparkSession:
    """Return a session on a cluster or over Spark Connect; by default, on this machine.

    Args:
        master: A cluster, such as `spark://host:7077`; this process becomes its driver.
        remote: A Spark Connect server, such as `sc://host:15002`; this process is a thin client.
            `local[2]` starts one on this machine.
        settings: Spark settings by name; `spark.master` and `spark.remote` may be among them.

    Raises:
        JavaNotFoundError: a driver must run here, and there is no Java.
        SessionError: a session with other settings is already running.
    """
    master = settings.pop("spark.master", None) if master is None else master
    remote = settings.pop("spark.remote", None) if remote is None else remote
    if master is not None and remote is not None:
        raise InvalidArgumentError(
            argument="remote", reason="set either remote or master, not both"
        )
    if remote is None and (master is None or _LOCAL.fullmatch(master)):
        named_master = {} if master is None else {"spark.master": master}
        return local(**settings | named_master)
    requested = _spark_settings(settings)
    requested |= {"spark.master": master} if master is not None else {"spark.remote": str(remote)}
    running = _running_session()
    if running is not None:
        return _check_running(running, requested)
    if remote is None:
        session = launch_driver(_DRIVER_DEFAULTS | requested, {})
    elif remote.startswith("sc:"):
        session = connect_client(_SESSION_DEFAULTS | requested)
    else:
        session = launch_driver(_LOCAL_DRIVER_DEFAULTS | requested, LOCAL_ENVIRONMENT)
    return _remember_settings(session, requested)


def attach(session: SparkSession) -> SparkSession:
    """Check that an existing session, of either kind, can be used, and return it.

    Raises:
        SessionError: it has been stopped, or its Spark is too old.
    """
    if _is_stopped(session):
        raise SessionError(reason="the session has been stopped")
    version = session.version
    numbers = version.split(".")[:2]
    if tuple(map(int, numbers)) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        reason = f"the session runs Spark {version}; Headrace needs {oldest} or later"
        raise SessionError(reason=reason)
    return session


def _is_stopped(session: SparkSession) -> bool:
    if is_connect(session):
        return bool(session.is_stopped)  # type: ignore[attr-defined]
    return session.sparkContext._jsc is None  # noqa: SLF001  (PySpark has no other sign of it)


def _spark_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    for name in settings:
        if not name.startswith("spark."):
            reason = "it is not a Spark setting: their names start with 'spark.'"
            raise InvalidArgumentError(argument=name, reason=reason)
    return {name: _text(value) for name, value in settings.items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _running_session() -> SparkSession | None:
    try:
        return SparkSession.active()
    except PySparkException:  # there is none
        return None


def _remember_settings(session: SparkSession, requested: Mapping[str, str]) -> SparkSession:
    _requested_settings[session] = requested
    return attach(session)


def _check_running(running: SparkSession, requested: Mapping[str, str]) -> SparkSession:
    """Return the running session if it has the requested settings; most cannot change now."""
    creation_settings = _requested_settings.get(running, {})
    actual = {
        name: creation_settings.get(name) or running.conf.get(name, None) for name in requested
    }
    different = [
        f"{name}={actual[name]}" for name, value in requested.items() if actual[name] != value
    ]
    if different:
        raise SessionError(reason=f"a session is running with {', '.join(different)}")
    return attach(running)


def _heap_megabytes() -> int:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return min(max(machine // 4, 1024), 8192)
