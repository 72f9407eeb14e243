"""A small lake, and servers over it that only listen on this machine."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.serve.client import Connection
from headrace.serve.server import RunningServer
from headrace.serve.setting import ServerSettings
from headrace.serve.wiring import build_cabi
from tests.docs.lake import write_demo_lake

TOKEN = "a-token-of-the-tests"

Start = Callable[..., RunningServer]


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a folder with the table `events`."""
    return write_demo_lake(tmp_path_factory.mktemp("served")).parent


@pytest.fixture
def start(lake: Path) -> Iterator[Start]:
    """Return a function that starts servers with a test's own settings."""
    running: list[RunningServer] = []

    def start(**settings: Any) -> RunningServer:
        settings = {"roots": (f"lake={lake}",), "listen": "127.0.0.1:0"} | settings
        running.append(RunningServer(ServerSettings(**settings)))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture(scope="session")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    path.write_text(f"# callers\ntester:{TOKEN}\nother:another-token-of-tests\n")
    return path


@pytest.fixture(scope="session")
def server(lake: Path) -> Iterator[RunningServer]:
    """A server without tokens, for all tests that change nothing."""
    settings = ServerSettings(roots=(f"lake={lake}",), listen="127.0.0.1:0")
    with RunningServer(settings) as running:
        yield running


@pytest.fixture(scope="session")
def connection(server: RunningServer) -> Iterator[Connection]:
    with Connection(f"grpc://127.0.0.1:{server.flight_port}") as connected:
        yield connected


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the C library for this Python, and return its folder."""
    folder = tmp_path_factory.mktemp("library")
    build_cabi(folder)
    return folder
