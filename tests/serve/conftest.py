"""A small lake, and servers over it that only listen on this machine."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

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
def tables(fixture_tables: Path) -> Iterator[RunningServer]:
    """A server of the conformance tables."""
    settings = ServerSettings(roots=(f"tables={fixture_tables}",), listen="127.0.0.1:0")
    with RunningServer(settings) as running:
        yield running


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the C library for this Python, and return its folder."""
    folder = tmp_path_factory.mktemp("library")
    build_cabi(folder)
    return folder


@pytest.fixture(scope="session")
def pem(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Create certificates of the server, a client, the authority of both, and a stranger."""
    folder = tmp_path_factory.mktemp("pem")
    ours, theirs = trustme.CA(), trustme.CA()
    files: dict[str, Path] = {}
    for name, authority in (("server", ours), ("client", ours), ("stranger", theirs)):
        issued = authority.issue_cert("127.0.0.1", "localhost")
        files[name] = folder / f"{name}.pem"
        issued.cert_chain_pems[0].write_to_path(files[name])
        files[f"{name}-key"] = folder / f"{name}-key.pem"
        issued.private_key_pem.write_to_path(files[f"{name}-key"])
    files["ca"] = folder / "ca.pem"
    ours.cert_pem.write_to_path(files["ca"])
    return files
