"""Listings of servers that know less of S3's protocol than they should."""

from collections.abc import Iterable
from itertools import chain, cycle, islice

import pytest

from headrace.errors import StoreFailedError
from headrace.storage.cloud_listing import ending_pages
from headrace.storage.store import ObjectMeta
from headrace.wiring import open_store
from tests.emulator.bucket import Bucket, served
from tests.emulator.saboteur import Answer, always, s3_options, sabotaged


def bucket_of(names: Iterable[str], *, tokens: bool, offsets: bool) -> Bucket:
    objects = {f"t/log/{name}": (lambda _: b"") for name in names}
    return Bucket(objects, knows_tokens=tokens, knows_offsets=offsets)


@pytest.mark.parametrize("count", [999, 1000, 1001, 2500])
@pytest.mark.parametrize(
    "known", [{"tokens": True, "offsets": True}, {"tokens": False, "offsets": True}]
)
def test_a_listing_without_continuation_tokens_continues_after_its_last_name(
    count: int, known: dict[str, bool]
) -> None:
    names = [f"{number:06}" for number in range(count)]
    with served(bucket_of(names, **known)) as options:
        store = open_store("s3://lake/t", options=options)
        assert [meta.path for meta in store.list("log")] == [f"log/{name}" for name in names]
        assert len(list(store.list_tree("log"))) == count
        assert next(store.list("log", start_from="000500")).path == "log/000500"


def test_a_listing_that_cannot_continue_is_an_error() -> None:
    names = [f"{number:06}" for number in range(1500)]
    bucket = bucket_of(names, tokens=False, offsets=False)
    with served(bucket) as options:
        store = open_store("s3://lake/t", options=options)
        with pytest.raises(StoreFailedError, match="cannot continue") as raised:
            list(store.list("log"))
        assert not raised.value.transient


def test_a_server_that_ignores_offsets_but_knows_tokens_is_listed_whole() -> None:
    names = [f"{number:06}" for number in range(2000)]
    with served(bucket_of(names, tokens=True, offsets=False)) as options:
        store = open_store("s3://lake/t", options=options)
        assert [meta.path for meta in store.list("log")] == [f"log/{name}" for name in names]


@pytest.mark.parametrize(("count", "most_requests"), [(1000, 2), (12, 200)])
def test_a_server_that_sends_the_same_page_again_and_again_is_an_error(
    count: int, most_requests: int
) -> None:
    """The client joins small pages to pages of 1,000, which then differ."""
    names = [f"{number:06}" for number in range(count)]
    listing = bucket_of(names, tokens=True, offsets=True).listing({}).decode()
    token = "<IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken>"
    body = listing.replace("<IsTruncated>false</IsTruncated>", token).encode()
    with sabotaged(always(Answer(200, body))) as server:
        store = open_store("s3://lake/t", options=s3_options(server.endpoint))
        with pytest.raises(StoreFailedError, match="same page") as raised:
            list(store.list("log"))
        assert not raised.value.transient
        assert len(server.requests) <= most_requests


def test_a_server_that_repeats_its_last_pages_is_an_error() -> None:
    names = [f"{number:06}" for number in range(5000)]
    metas = [ObjectMeta(path=name, size_bytes=1, modified_ms=1) for name in names]
    pages = [metas[start : start + 1000] for start in range(0, 5000, 1000)]
    repeated = chain(pages, cycle(pages[3:]))
    with pytest.raises(StoreFailedError, match="same page"):
        for _ in islice(ending_pages(repeated, "log"), 40):
            pass
    assert [len(page) for page in ending_pages(iter(pages), "log")] == [1000] * 5
