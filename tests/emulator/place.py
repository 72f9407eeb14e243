"""A bucket in an emulator, with the options needed to open it."""

import base64
import hashlib
import hmac
import json
import urllib.request
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headrace import wiring
from headrace.storage.store import PutMode, WritableStore

BUCKET = "lake"
ACCESS_KEY, SECRET_KEY = "AKIAEMULATOR", "s3cretS3cretS3cret"
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a test puts its tables."""

    name: str
    root: str
    options: dict[str, Any] = field(default_factory=dict)
    endpoint: str = ""

    @property
    def secret(self) -> str:
        """The key that no file, log or error may contain."""
        return SECRET_KEY if self.name == "s3" else ACCOUNT_KEY

    def uri(self, table: str) -> str:
        return f"{self.root}/{table if self.name == 'local' else quote(table)}"

    def store(self, table: str) -> WritableStore:
        return wiring.open_writable_store(self.uri(table), options=self.options)

    def upload(self, folder: Path, table: str) -> str:
        """Copy the files of a folder into the store, and return the address of the copy."""
        if self.name == "gcs":
            _upload_to_fake_gcs(self.endpoint, folder, table)
            return self.uri(table)
        store = self.store(table)
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                path = file.relative_to(folder).as_posix()
                store.put(path, file.read_bytes(), mode=PutMode.OVERWRITE)
        return self.uri(table)


def local_place(folder: Path) -> Place:
    return Place("local", str(folder))


def s3_place(endpoint: str) -> Place:
    send("PUT", f"{endpoint}/{BUCKET}")
    options = {
        "endpoint_url": endpoint,
        "aws_access_key_id": ACCESS_KEY,
        "aws_secret_access_key": SECRET_KEY,
        "aws_region": "us-east-1",
    }
    return Place("s3", f"s3://{BUCKET}", options, endpoint)


def azure_place(endpoint: str) -> Place:
    path = f"/{ACCOUNT}/{BUCKET}?restype=container"
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    text = "PUT" + "\n" * 12 + "".join(f"{k}:{v}\n" for k, v in sorted(headers.items()))
    text += f"/{ACCOUNT}/{ACCOUNT}/{BUCKET}\nrestype:container"
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    send("PUT", endpoint + path, headers=headers)
    options = {
        "account_name": ACCOUNT,
        "account_key": ACCOUNT_KEY,
        "endpoint": f"{endpoint}/{ACCOUNT}",
    }
    return Place("azure", f"az://{BUCKET}", options, endpoint)


def gcs_place(endpoint: str) -> Place:
    body = json.dumps({"name": BUCKET}).encode()
    headers = {"Content-Type": "application/json"}
    send("POST", f"{endpoint}/storage/v1/b", body=body, headers=headers)
    options = {"base_url": endpoint, "anonymous": True}
    return Place("gcs", f"gs://{BUCKET}", options, endpoint)


def _upload_to_fake_gcs(endpoint: str, folder: Path, table: str) -> None:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            name = quote(f"{table}/{file.relative_to(folder).as_posix()}", safe="")
            address = f"{endpoint}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}"
            send("POST", address, body=file.read_bytes())


def send(
    method: str, address: str, *, body: bytes = b"", headers: dict[str, str] | None = None
) -> None:
    request = urllib.request.Request(
        address, method=method, data=body or None, headers=headers or {}
    )
    with urllib.request.urlopen(request, timeout=20):
        pass
