"""Parse addresses of remote stores into service, bucket and prefix.

An address as a user writes it enters; an `Address` leaves. No request is sent.
"""

import re
from enum import Enum
from urllib.parse import unquote, urlsplit

import msgspec

from headrace.errors import InvalidArgumentError
from headrace.storage.location import scheme_of


class Service(Enum):
    """The kinds of remote stores."""

    S3 = "S3"
    AZURE = "Azure"
    GCS = "Google Cloud Storage"
    HTTP = "HTTP"


SCHEMES = {
    "s3": Service.S3,
    "s3a": Service.S3,
    "s3n": Service.S3,
    "az": Service.AZURE,
    "azure": Service.AZURE,
    "abfs": Service.AZURE,
    "abfss": Service.AZURE,
    "adl": Service.AZURE,
    "gs": Service.GCS,
    "gcs": Service.GCS,
    "http": Service.HTTP,
    "https": Service.HTTP,
}
"""The service for each address scheme of a remote store."""

_AZURE_HOST = re.compile(r"([a-z0-9\-]+)\.(?:blob|dfs)\.(?:core\.|fabric\.)", re.IGNORECASE)
_S3_VIRTUAL = re.compile(r"(.+)\.s3[.\-]([a-z0-9\-]+)\.amazonaws\.com", re.IGNORECASE)
_S3_PATH = re.compile(r"s3[.\-]([a-z0-9\-]+)\.amazonaws\.com", re.IGNORECASE)


_WITHOUT_USERS = frozenset({Service.S3, Service.GCS, Service.HTTP})


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The root of a remote store."""

    service: Service
    root: str
    """The address as a user would open it, without a trailing slash."""
    bucket: str
    """The bucket or container; for a web server, its origin."""
    prefix: str = ""
    """The prefix of all keys, without leading or trailing slashes."""
    account: str | None = None
    """The Azure account, if the address names it."""
    region: str | None = None
    """The region, if the address names it."""

    def lends_options_to(self, other: "Address") -> bool:
        """Return whether options for this address may be used for one that a log names.

        They may have credentials, which no other web server or account should receive.
        """
        if self.service is not other.service:
            return False
        if self.service is Service.HTTP:
            return self.bucket == other.bucket
        return other.account in {None, self.account}

    def key(self, path: str) -> str:
        """Return the key of a path below the root."""
        path = path.strip("/")
        return f"{self.prefix}/{path}" if self.prefix and path else self.prefix or path

    def path(self, key: str) -> str:
        """Return the path of a key relative to the root."""
        return key[len(self.prefix) + 1 :] if self.prefix else key


def parse_address(uri: str) -> Address:
    """Parse an address.

    Raises:
        InvalidArgumentError: the address names no bucket, or contains credentials or a query.
    """
    service = SCHEMES[scheme_of(uri)]
    scheme, slashes, remainder = uri.partition("://")
    authority, _, path = remainder.partition("/")
    if ":" in authority.rpartition("@")[0] or ("@" in authority and service in _WITHOUT_USERS):
        reason = "it carries a user name or password; give keys as storage options"
        raise InvalidArgumentError(argument="uri", reason=reason)
    if "?" in remainder or "#" in remainder:
        shown = f"{scheme}://{remainder.partition('?')[0].partition('#')[0]}"
        reason = (
            f"{shown}?… has a query or a fragment; percent-encode these characters, and give "
            "signatures and keys as storage options, such as sas_token"
        )
        raise InvalidArgumentError(argument="uri", reason=reason)
    prefix = unquote(path).strip("/")
    root = f"{scheme.lower()}://{remainder}".rstrip("/")
    if not (slashes and authority) or ".." in prefix.split("/") or "\0" in prefix:
        example = f"{scheme_of(uri)}://bucket/events"
        reason = f"{uri!r} does not name a folder of a store, such as {example}"
        raise InvalidArgumentError(argument="uri", reason=reason)
    if service is Service.AZURE:
        return _azure(root, authority, prefix)
    if service is Service.HTTP:
        return _web(root, prefix)
    return Address(service=service, root=root, bucket=authority, prefix=prefix)


def _azure(root: str, authority: str, prefix: str) -> Address:
    container, _, host = authority.rpartition("@")
    if not container:
        container, host = host, ""
    return Address(
        service=Service.AZURE,
        root=root,
        bucket=container,
        prefix=prefix,
        account=host.partition(".")[0] or None,
    )


def _web(root: str, prefix: str) -> Address:
    """Parse an HTTP address, which may be that of a known cloud store."""
    parts = urlsplit(root)
    host = parts.hostname or ""
    first, _, subfolder = prefix.partition("/")
    if azure := _AZURE_HOST.match(host):
        return Address(
            service=Service.AZURE, root=root, bucket=first, prefix=subfolder, account=azure[1]
        )
    if virtual := _S3_VIRTUAL.fullmatch(host):
        return Address(
            service=Service.S3, root=root, bucket=virtual[1], prefix=prefix, region=virtual[2]
        )
    if by_path := _S3_PATH.fullmatch(host):
        return Address(
            service=Service.S3, root=root, bucket=first, prefix=subfolder, region=by_path[1]
        )
    if host == "storage.googleapis.com":
        return Address(service=Service.GCS, root=root, bucket=first, prefix=subfolder)
    origin = f"{parts.scheme}://{parts.netloc}"
    return Address(service=Service.HTTP, root=root, bucket=origin, prefix=prefix)
