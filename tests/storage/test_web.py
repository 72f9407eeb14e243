"""Read from web servers, and from Google Cloud Storage, whose emulator is read-only here."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from headrace import Table
from headrace.errors import ListingUnavailableError, ReadOnlyStoreError
from headrace.storage.store import PutMode
from headrace.wiring import open_store, open_writable_store
from tests.emulator.bucket import Bucket, served
from tests.emulator.place import Place
from tests.emulator.saboteur import Answer, sabotaged
from tests.lake.action import add, opening, remove
from tests.lake.log import write_history


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web")
    history = [[*opening(), add("a"), add("b")], [remove("a")], [add("c d")]]
    write_history(folder / "events", history)
    return folder


@pytest.fixture(scope="module")
def server(lake: Path) -> Iterator[str]:
    handler = partial(Quiet, directory=str(lake))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{web.server_address[1]}"
        web.shutdown()
        thread.join()


def test_a_table_is_read_through_the_index_pages_of_a_server(server: str, lake: Path) -> None:
    remote, local = Table(f"{server}/events"), Table(lake / "events")
    for version in (None, 0, 1):
        assert [file.path for file in remote.snapshot(version).scan()] == [
            file.path for file in local.snapshot(version).scan()
        ]


def test_a_web_server_is_not_written_to(server: str) -> None:
    store = open_writable_store(f"{server}/events")
    with pytest.raises(ReadOnlyStoreError):
        store.put("x", b"", mode=PutMode.CREATE)


def test_a_server_without_listings_is_reported() -> None:
    def answer(method: str, path: str) -> Answer:
        return Answer(501) if method == "PROPFIND" else Answer(200, b"welcome to " + path.encode())

    with sabotaged(answer) as web, pytest.raises(ListingUnavailableError):
        list(open_store(f"{web.endpoint}/events").list("_delta_log"))


def check_same(remote: Table, lake: Path) -> None:
    assert [file.path for file in remote.snapshot().scan()] == [
        file.path for file in Table(lake / "events").snapshot().scan()
    ]
    assert remote.snapshot(1).version == 1


@pytest.mark.timeout(1800)  # the first run builds the emulator with Go
def test_a_table_is_read_from_google_cloud_storage(gcs: Place, lake: Path) -> None:
    uri = gcs.upload(lake / "events", "events")
    check_same(Table(uri, storage_options=gcs.options), lake)


def test_a_table_is_read_through_the_interface_of_google_cloud_storage(lake: Path) -> None:
    """The bucket has the same listings and ranges, and needs no Go to be built."""
    files = {
        file.relative_to(lake).as_posix(): file.read_bytes()
        for file in (lake / "events").rglob("*")
        if file.is_file()
    }
    bucket = Bucket({key: partial(_unchanged, content) for key, content in files.items()})
    with served(bucket) as s3_options:
        options = {"base_url": s3_options["endpoint"], "anonymous": True}
        check_same(Table("gs://lake/events", storage_options=options), lake)
    assert bucket.listings
    assert bucket.reads


def _unchanged(content: bytes, _: int) -> bytes:
    return content
