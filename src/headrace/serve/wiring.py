"""Entry points that import the optional libraries of serving only when called.

`connect` needs only pyarrow. A server needs the extra `serve`.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headrace.errors import MissingExtraError


def connect(
    location: str,
    *,
    token: str | None = None,
    tls_root_certs: bytes | None = None,
    cert_chain: bytes | None = None,
    private_key: bytes | None = None,
) -> Any:
    """Connect to a Headrace server; its tables have the interface of local ones.

    Args:
        location: `grpc://host:port` or `grpc+tls://host:port` of the server's Flight endpoint, or
            the `http://` or `https://` address of its HTTP endpoint, which reports the Flight port.
        token: Your bearer token.
        tls_root_certs: The authority that signed the server's certificate, in PEM; by default
            those of the system.
        cert_chain: Your client certificate in PEM, if the server requires one.
        private_key: The key of the client certificate.

    Returns:
        A `headrace.serve.client.Connection`.

    Raises:
        InvalidArgumentError: `location` is not an address.
        RemoteFailedError: the HTTP endpoint was given and does not answer.
        UnauthenticatedError: the HTTP endpoint was given and refuses the token.
    """
    from headrace.serve.client import Connection  # noqa: PLC0415

    return Connection(
        location,
        token=token,
        tls_root_certs=tls_root_certs,
        cert_chain=cert_chain,
        private_key=private_key,
    )


def run_server(**settings: Any) -> None:
    """Serve tables until the process is asked to end; settings are those of `ServerSettings`.

    Raises:
        MissingExtraError: the extra `serve` is not installed.
        InvalidArgumentError: a setting is wrong.
    """
    require_serve()
    # Arrow's own allocator keeps a heap per thread. A server has threads for each stream, and needs
    # half the memory with the system allocator. Arrow reads this when it is first imported.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from headrace.serve.server import run_server as run  # noqa: PLC0415
    from headrace.serve.setting import ServerSettings  # noqa: PLC0415

    run(ServerSettings(**settings))


def build_cabi(folder: Path) -> list[Path]:
    """Compile the C library into a folder, and return the created paths.

    Raises:
        MissingExtraError: the extra `serve` is not installed.
        BuildFailedError: this machine has no compiler, or no shared Python.
    """
    for module in ("cffi", "setuptools"):
        if find_spec(module) is None:
            raise MissingExtraError(module=module, extra="serve")
    from headrace.serve.cabi.build import build_library  # noqa: PLC0415

    return build_library(folder)


def require_serve() -> None:
    """Check that the libraries of a server are installed.

    Raises:
        MissingExtraError: one is missing; the error says how to install it.
    """
    for module in ("starlette", "uvicorn", "prometheus_client"):
        if find_spec(module) is None:
            raise MissingExtraError(module=module, extra="serve")
