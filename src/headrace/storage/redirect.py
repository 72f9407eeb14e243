"""Keep a client from following redirects to other hosts.

The address and options of a store enter; the options that the client needs for this leave.

The client follows redirects by itself, and this cannot be disabled. But it can be configured to
send requests through a proxy for all hosts except a given list. The proxy configured here is an
address where nothing answers, so a request to any other host fails at once.
"""

import os
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from headrace.storage.address import Address, Service

_NOWHERE = "http://255.255.255.255:9"
_UNREACHABLE = ("kind: NetworkUnreachable", "kind: PermissionDenied", "kind: HostUnreachable")
_OWN_DOMAINS = {
    Service.S3: (
        "amazonaws.com",
        "amazonaws.com.cn",
        "api.aws",
        "169.254.169.254",
        "169.254.170.2",
    ),
    Service.AZURE: (
        "windows.net",
        "microsoftonline.com",
        "microsoftonline.us",
        "fabric.microsoft.com",
        "usgovcloudapi.net",
        "chinacloudapi.cn",
        "169.254.169.254",
    ),
    Service.GCS: ("googleapis.com", "metadata.google.internal", "169.254.169.254"),
    Service.HTTP: (),
}
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_ENDPOINTS = (
    "endpoint",
    "base_url",
    "endpoint_url_sts",
    "metadata_endpoint",
    "msi_endpoint",
    "authority_host",
    "container_credentials_full_uri",
)
_ENDPOINT_VARIABLES = (
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_STS_ENDPOINT",
    "AWS_METADATA_ENDPOINT",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_ENDPOINT",
    "AZURE_AUTHORITY_HOST",
    "AZURITE_BLOB_STORAGE_URL",
    "IDENTITY_ENDPOINT",
    "MSI_ENDPOINT",
    "GOOGLE_BASE_URL",
)


def refuse_redirects(
    address: Address, store: dict[str, Any], client: dict[str, Any]
) -> dict[str, str]:
    """Return client options that allow requests to the store's own hosts only.

    If the user has configured a proxy, return no options: that proxy decides.
    """
    has_proxy = any(os.environ.get(n) or os.environ.get(n.upper()) for n in _PROXIES)
    if has_proxy or "proxy_url" in client:
        return {}
    addresses = [str(store[name]) for name in _ENDPOINTS if name in store]
    addresses += [os.environ.get(name, "") for name in _ENDPOINT_VARIABLES]
    if address.service is Service.HTTP:
        addresses.append(address.bucket)
    if store.get("use_emulator"):
        addresses.append("http://127.0.0.1")
    hosts = [*_hosts(addresses), *_OWN_DOMAINS[address.service]]
    return {"proxy_url": _NOWHERE, "proxy_excludes": ",".join(dict.fromkeys(hosts))}


def is_refused_redirect(text: str, endpoint: str) -> bool:
    """Return whether a request was kept from another host, and the store itself is reachable."""
    if not any(mark in text for mark in _UNREACHABLE):
        return False
    parts = urlsplit(endpoint)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=1).close()
    except OSError:
        return False
    return True


def _hosts(addresses: Iterable[str]) -> list[str]:
    parsed = (urlsplit(address if "://" in address else f"//{address}") for address in addresses)
    return [parts.hostname for parts in parsed if parts.hostname]
