"""A scan that is read long after it was planned: the client gets new tickets."""

import time

import pytest

from headrace.serve.client import Connection
from headrace.serve.server import RunningServer
from tests.serve.conftest import Start

LIFETIME_S = 0.3


@pytest.fixture
def hasty(start: Start, monkeypatch: pytest.MonkeyPatch) -> RunningServer:
    """Run a server whose tickets expire soon."""
    server = start()
    monkeypatch.setattr(server.service.tickets, "lifetime_s", LIFETIME_S)
    return server


@pytest.mark.parametrize("endpoints", [1, 4])
def test_a_scan_can_be_read_after_its_tickets_have_expired(
    hasty: RunningServer, endpoints: int
) -> None:
    with Connection(f"grpc://127.0.0.1:{hasty.flight_port}") as connected:
        scan = connected.table("lake/events").snapshot().scan(endpoints=endpoints)
        for _ in range(2):
            time.sleep(2 * LIFETIME_S)
            assert len(list(scan)) == 156
            assert scan.outcome is not None
            assert scan.outcome.count == 156


def test_rows_can_be_read_after_their_tickets_have_expired(hasty: RunningServer) -> None:
    with Connection(f"grpc://127.0.0.1:{hasty.flight_port}") as connected:
        rows = connected.table("lake/events").snapshot().rows(columns=["id"])
        time.sleep(2 * LIFETIME_S)
        assert rows.read_all().num_rows == 3_900
