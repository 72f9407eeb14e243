"""Credentials in every form that can be tested here; none of them appears in any text."""

import base64
import hashlib
import hmac
import logging
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from headrace import Table
from headrace.errors import AccessDeniedError, HeadraceError
from headrace.storage.store import PutMode
from headrace.wiring import open_store
from tests.emulator.place import ACCESS_KEY, ACCOUNT, ACCOUNT_KEY, BUCKET, SECRET_KEY, Place, send
from tests.emulator.saboteur import failure, sabotaged


def without_keys(place: Place) -> dict[str, Any]:
    return {name: value for name, value in place.options.items() if "key" not in name}


def test_credentials_come_from_a_provider(s3: Place) -> None:
    s3.store("provider").put("a", b"1", mode=PutMode.OVERWRITE)
    calls: list[int] = []

    def provide() -> dict[str, Any]:
        calls.append(1)
        return {
            "access_key_id": ACCESS_KEY,
            "secret_access_key": SECRET_KEY,
            "token": None,
            "expires_at": datetime.now(UTC) + timedelta(hours=1),
        }

    options = without_keys(s3) | {"credential_provider": provide}
    assert open_store(s3.uri("provider"), options=options).read("a") == b"1"
    assert calls


def test_a_public_bucket_is_read_without_credentials(s3: Place) -> None:
    address = f"{s3.endpoint}/{BUCKET}/public/a"
    headers = {"x-amz-acl": "public-read", "Content-Type": "application/octet-stream"}
    send("PUT", address, body=b"1", headers=headers)
    s3.store("public").put("private", b"1", mode=PutMode.OVERWRITE)
    store = open_store(s3.uri("public"), options=without_keys(s3) | {"anonymous": "true"})
    assert store.read("a") == b"1"
    with pytest.raises(AccessDeniedError):
        store.read("private")


def shared_access_signature() -> str:
    """Return a signature that allows reading a container for an hour."""
    until = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    version = "2020-12-06"
    fields = ["rl", "", until, f"/blob/{ACCOUNT}/{BUCKET}", "", "", "", version, "c"]
    text = "\n".join([*fields, *[""] * 7])
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    signature = quote(base64.b64encode(digest).decode(), safe="")
    return f"sv={version}&sr=c&sp=rl&se={quote(until, safe='')}&sig={signature}"


def test_a_shared_access_signature_reads_and_is_in_no_error(
    azure: Place, caplog: pytest.LogCaptureFixture
) -> None:
    azure.store("signed").put("a", b"1", mode=PutMode.OVERWRITE)
    token = shared_access_signature()
    options = without_keys(azure) | {"account_name": ACCOUNT, "sas_token": token}
    assert open_store(azure.uri("signed"), options=options).read("a") == b"1"
    signature = token.rpartition("sig=")[2]
    texts: list[str] = []
    with (
        caplog.at_level(logging.DEBUG),
        sabotaged(lambda *_: failure(403, "AuthorizationFailure")) as store,
    ):
        failing = options | {"endpoint": f"{store.endpoint}/{ACCOUNT}"}
        with pytest.raises(HeadraceError) as raised:
            Table(azure.uri("signed"), storage_options=failing).snapshot()
        assert any("sig=" in request for request in store.requests)
        error: BaseException | None = raised.value
        while error is not None:
            texts += [str(error), repr(error), repr(vars(error))]
            error = error.__cause__ or error.__context__
    texts.append(caplog.text)
    assert [text for text in texts if signature in text or signature[:12] in text] == []
