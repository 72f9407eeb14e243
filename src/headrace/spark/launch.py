"""Starts what a session needs: a local JVM, or nothing for a Spark Connect client.

Environment variables for the JVM are set only while it starts, and restored afterwards.
"""

import os
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files

from pyspark.sql import SparkSession

from headrace.spark.java import find_java_home
from headrace.spark.own_jvm import start_session

LOCAL_ENVIRONMENT = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
"""The environment of a local Spark: the same Python for workers, and no open port."""

_LAUNCHING = threading.Lock()


def launch_driver(settings: Mapping[str, str], environment: Mapping[str, str]) -> SparkSession:
    """Return a session whose driver runs in a JVM that is started here.

    Raises:
        JavaNotFoundError: there is no suitable Java.
        KeyboardInterrupt: Ctrl-C was pressed; no JVM is left.
    """
    with _LAUNCHING, as_file(files("headrace.spark") / "log4j2.properties") as logging:
        home = find_java_home()
        java = {} if home is None else {"JAVA_HOME": str(home)}
        quiet = {
            "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={logging.as_uri()}"
        }
        with _environment(environment, overrides=java), warnings.catch_warnings():
            # A server in this process gets the settings at its start, and then once more.
            warnings.filterwarnings("ignore", "Failed to set spark.", UserWarning)
            return _own_session({**quiet, **settings})


def connect_client(settings: Mapping[str, str]) -> SparkSession:
    """Return a session of a Spark Connect server."""
    return _session(settings)


def _own_session(settings: Mapping[str, str]) -> SparkSession:
    if "spark.remote" in settings:  # a server in this process, which PySpark starts
        return _session(settings)
    return start_session(lambda: _session(settings))


def _session(settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName("headrace")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def _environment(variables: Mapping[str, str], *, overrides: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables temporarily: defaults, and overrides."""
    added = {name: value for name, value in variables.items() if not os.environ.get(name)}
    added |= overrides
    previous = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
