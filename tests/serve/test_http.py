"""HTTP: curl and every other client get the same answers, each with the right status."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

import headrace
from headrace.serve.record_format import ARROW, NDJSON, OUTCOME_KEY
from headrace.serve.server import RunningServer
from tests.conformance.fixture import Fixture, fixture_params

TABLE = {"table": "lake/events"}


@pytest.fixture
def http(server: RunningServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.http_port}", trust_env=False) as client:
        yield client


def lines_of(response: httpx.Response) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    *records, last = map(json.loads, response.text.splitlines())
    return records, last


def test_json_lines_end_with_the_outcome(http: httpx.Client, lake: Path) -> None:
    response = http.get("/v1/files", params=TABLE)
    records, last = lines_of(response)
    local = headrace.Table(lake / "events").snapshot()
    assert response.headers["content-type"] == NDJSON
    assert {record["path"] for record in records} == {file.path for file in local.scan()}
    assert (last["$outcome"]["count"], last["$outcome"]["version"]) == (len(records), 40)


def test_an_arrow_stream_ends_with_the_outcome(http: httpx.Client, lake: Path) -> None:
    response = http.post(
        "/v1/rows", json=TABLE | {"where": {"city": "Bern"}}, headers={"accept": ARROW}
    )
    reader = pa.ipc.open_stream(response.content)
    batches = list(reader.iter_batches_with_custom_metadata())
    outcome = json.loads(batches[-1][1][OUTCOME_KEY])
    rows = sum(batch.num_rows for batch, _ in batches)
    expected = int(headrace.Table(lake / "events").snapshot().count("city = 'Bern'"))
    assert rows == outcome["count"] == expected


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, NDJSON),
        ("*/*", NDJSON),
        (f"{ARROW}, */*;q=0.1", ARROW),
        (f"{ARROW};q=0.2, {NDJSON}", NDJSON),
    ],
)
def test_the_format_is_the_preferred_one(
    http: httpx.Client, accept: str | None, media: str
) -> None:
    headers = {} if accept is None else {"accept": accept}
    response = http.get("/v1/files", params=TABLE | {"limit": "1"}, headers=headers)
    assert response.headers["content-type"] == media


def test_a_snapshot_is_described(http: httpx.Client) -> None:
    description = http.get("/v1/snapshot", params=TABLE | {"version": "3"}).json()
    assert (description["version"], description["metadata"]["partitionColumns"]) == (
        3,
        ["date", "city"],
    )


def test_health_readiness_and_metrics_are_served(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "alive"}
    assert http.get("/readyz").json()["status"] == "ready"
    http.get("/v1/files", params=TABLE)
    text = http.get("/metrics").text
    assert 'headrace_server_sent_total{kind="files"}' in text
    assert 'table="lake/events"' in text


@pytest.mark.parametrize(
    ("method", "path", "request_", "status", "code"),
    [
        ("GET", "/v1/files", {}, 400, "MALFORMED_REQUEST"),
        ("GET", "/v1/files", {"params": TABLE | {"nope": "1"}}, 400, "MALFORMED_REQUEST"),
        ("GET", "/v1/files", {"params": TABLE | {"limit": "x"}}, 400, "MALFORMED_REQUEST"),
        ("GET", "/v1/files", {"params": TABLE | {"where": "nope = 1"}}, 400, "UNKNOWN_COLUMN"),
        ("GET", "/v1/files", {"params": TABLE | {"where": "{"}}, 400, "MALFORMED_REQUEST"),
        ("GET", "/v1/files", {"params": TABLE | {"columns": "nope"}}, 400, "INVALID_ARGUMENT"),
        ("GET", "/v1/files", {"params": {"table": "lake/none"}}, 404, "TABLE_NOT_SERVED"),
        ("GET", "/v1/files", {"params": TABLE | {"version": "99"}}, 404, "VERSION_NOT_FOUND"),
        ("GET", "/v1/files", {"params": TABLE, "headers": {"accept": "image/png"}}, 406, None),
        ("POST", "/v1/files", {"content": b"{}"}, 415, "UNSUPPORTED_MEDIA"),
        ("POST", "/v1/files", {"json": TABLE | {"kind": "rows"}}, 400, "MALFORMED_REQUEST"),
        ("POST", "/v1/files", {"json": TABLE | {"endpoints": 2}}, 400, "MALFORMED_REQUEST"),
        ("POST", "/v1/rows", {"json": TABLE | {"where": "id + 1 = 2"}}, 400, None),
        ("PUT", "/v1/files", {}, 405, "HTTP_405"),
        ("GET", "/nope", {}, 404, "HTTP_404"),
    ],
)
def test_a_refusal_has_its_status_and_code(  # noqa: PLR0913, PLR0917
    http: httpx.Client,
    method: str,
    path: str,
    request_: dict[str, Any],
    status: int,
    code: str | None,
) -> None:
    response = http.request(method, path, **request_)
    assert response.status_code == status, response.text
    assert code in {None, response.json()["error"]["code"]}


@pytest.mark.parametrize("fixture", fixture_params())
def test_curl_lists_the_files_of_the_library(
    tables: RunningServer, fixture_tables: Path, fixture: Fixture
) -> None:
    if fixture.is_large:
        pytest.skip("too large for JSON in a gate")
    name = f"tables/{fixture.table.relative_to(fixture_tables)}"
    result = subprocess.run(
        [
            "curl",
            "-sSG",
            "--noproxy",
            "*",
            f"http://127.0.0.1:{tables.http_port}/v1/files",
            "--data-urlencode",
            f"table={name}",
            "--data-urlencode",
            "columns=uri",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    try:
        batches = headrace.Table(fixture.table).snapshot().scan().batches(columns=["uri"])
        expected = sorted(uri for batch in batches for uri in batch["uri"].to_pylist())
    except headrace.HeadraceError as error:
        refused: dict[str, Any] = lines[-1].get("error") or lines[-1]["$error"]
        if refused["code"] == error.code:
            return
        raise
    assert sorted(record["uri"] for record in lines[:-1]) == expected
    assert lines[-1]["$outcome"]["count"] == len(expected)
