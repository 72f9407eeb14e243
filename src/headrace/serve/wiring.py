"""The doors of this room for those who may not have its libraries: imported when they are used.

`connect` needs pyarrow alone. A server needs the extra `serve`.
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
        location: `grpc://host:port` or `grpc+tls://host:port` of the server's Flight half, or the
            `http://` or `https://` address of its HTTP half, which knows where the other is.
        token: The bearer token that the server knows you by.
        tls_root_certs: The authority that signed the server's certificate, in PEM; by default
            those of the system.
        cert_chain: Your own certificate in PEM, where the server wants one.
        private_key: Its key.

    Returns:
        A `headrace.serve.client.Connection`.

    Raises:
        InvalidArgumentError: `location` is not an address.
        RemoteFailedError: the server's HTTP half was named, and does not answer.
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
    """Serve tables until the process is told to end; settings are those of `ServerSettings`.

    Raises:
        MissingExtraError: the extra `serve` is not installed.
        InvalidArgumentError: a setting is wrong.
    """
    require_serve()
    # Arrow's own allocator keeps a heap for each thread. A server has threads for each stream, and
    # needs half the memory with the system's. Arrow reads this when it is first imported.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from headrace.serve.server import run_server as run  # noqa: PLC0415
    from headrace.serve.setting import ServerSettings  # noqa: PLC0415

    run(ServerSettings(**settings))


def build_cabi(folder: Path) -> list[Path]:
    """Compile the C library into a folder, and say what lies there.

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
    """Say how to install what a server needs, where it is missing.

    Raises:
        MissingExtraError: it is.
    """
    for module in ("starlette", "uvicorn", "prometheus_client"):
        if find_spec(module) is None:
            raise MissingExtraError(module=module, extra="serve")
