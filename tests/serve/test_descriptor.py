"""Many connections: the server may have as many as the system allows, and survives more."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

LIMITS = Path("/proc/self/limits")


@contextmanager
def serving(lake: Path, *, limit: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Run a server with a limit on open files; yield its process and HTTP port."""
    command = f"ulimit {limit}; exec {sys.executable} -m headrace serve"
    with subprocess.Popen(
        ["bash", "-c", f"{command} --root lake={lake} --listen 127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            port = re.findall(r"127\.0\.0\.1:(\d+)", process.stderr.readline())[0]
            yield process, int(port)
        finally:
            process.kill()


@pytest.mark.skipif(not LIMITS.exists(), reason="the limit is in /proc")
def test_the_limit_of_open_files_is_raised(lake: Path) -> None:
    with serving(lake, limit="-Sn 100") as (process, _):
        limits = Path(f"/proc/{process.pid}/limits").read_text()
    match = re.search(r"Max open files +(\d+) +(\d+)", limits)
    assert match is not None
    soft, hard = map(int, match.groups())
    assert soft == min(hard, 65_536)
    assert soft > 100


def test_a_server_without_descriptors_recovers_and_does_not_flood_its_log(lake: Path) -> None:
    with serving(lake, limit="-n 60") as (process, port):
        with ExitStack() as idle:
            for _ in range(150):
                idle.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            time.sleep(2.5)  # asyncio tries again every second
        until = time.monotonic() + 5
        status = 0
        while status != 200 and time.monotonic() < until:
            with suppress(httpx.HTTPError):
                url = f"http://127.0.0.1:{port}/healthz"
                status = httpx.get(url, timeout=1, trust_env=False).status_code
        process.kill()
        _, log = process.communicate()
    assert status == 200
    assert log.count("cannot be accepted") == 1
    assert len(log.splitlines()) < 10
