"""A real Spark cluster on this machine: a master and two workers, each in its own process."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from headrace.spark.java import find_java_home

HOST = "127.0.0.1"
_PATIENCE_S = 120


@contextmanager
def standalone_cluster(folder: Path, *, workers: int = 2) -> Iterator[str]:
    """Start a cluster, and yield the address of its master."""
    port = _free_port()
    master = f"spark://{HOST}:{port}"
    ports = ["--host", HOST, "--port", str(port), "--webui-port", str(_free_port())]
    with ExitStack() as stack:
        stack.enter_context(_daemon(folder, "master", "master.Master", ports))
        _wait_for(folder / "master.log", "New state: ALIVE")
        for number in range(workers):
            work = ["--work-dir", str(folder / f"work-{number}"), "--host", HOST]
            size = ["--cores", "1", "--memory", "600m", "--webui-port", str(_free_port()), master]
            stack.enter_context(
                _daemon(folder, f"worker-{number}", "worker.Worker", [*work, *size])
            )
        for number in range(workers):
            _wait_for(folder / f"worker-{number}.log", "Successfully registered")
        yield master


@contextmanager
def _daemon(folder: Path, name: str, kind: str, arguments: list[str]) -> Iterator[None]:
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
    java = find_java_home()
    environment = os.environ | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": HOST}
    environment |= {} if java is None else {"JAVA_HOME": str(java)}
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=_PATIENCE_S)


def _wait_for(log: Path, text: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while text not in log.read_text(errors="replace"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{text!r} is not in {log}: {log.read_text(errors='replace')}")
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])
