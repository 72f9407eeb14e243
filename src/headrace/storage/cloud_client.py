"""Create the obstore client of a remote store from its address and options."""

import os
import re
from typing import Any, cast
from urllib.parse import urlsplit

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, HTTPStore, S3Store

from headrace.errors import CredentialError, InvalidArgumentError
from headrace.storage.address import Address, Service
from headrace.storage.option import ACCOUNT_VARIABLES, StorageOptions
from headrace.storage.own_credential import own_credentials
from headrace.storage.profile import profile_options
from headrace.storage.redirect import refuse_redirects

_NO_RETRIES = {"max_retries": 0}
"""Retries are the task of `RetryingStore`."""
_LIMITS = {"timeout": "10m", "connect_timeout": "5s", "user_agent": "headrace"}
"""Timeouts for an answer as a whole; a `Call` limits its individual steps."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ENDPOINT_FORM = re.compile(r"https?://[^\s/]+(?:/[^\s]*)?")
_ENDPOINT = {Service.S3: "endpoint", Service.AZURE: "endpoint", Service.GCS: "base_url"}
_ENDPOINT_VARIABLES = {
    Service.S3: ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    Service.AZURE: ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
    Service.GCS: ("GOOGLE_BASE_URL",),
}


def open_client(address: Address, options: StorageOptions) -> Any:
    """Return an obstore client for a bucket.

    Raises:
        InvalidArgumentError: an option has a value that the client does not accept.
        CredentialError: the options name credentials that cannot be used.
    """
    store, client = dict(options.store), dict(options.client)
    if address.service is not Service.HTTP:
        _allow_http(address, store, client)
    client = _LIMITS | refuse_redirects(address, store, client) | client
    common = {"client_options": client, "retry_config": _NO_RETRIES}
    if options.provider is not None:
        common["credential_provider"] = options.provider
    failure = "the client does not take them"
    try:
        return _open(address, store, common)
    except (BaseError, TypeError, ValueError, OSError) as error:
        failure = type(error).__name__
    # Outside the handler: the client's text may repeat a value, which may be a secret.
    reason = f"one of {', '.join(options.names) or 'the environment'} is wrong ({failure})"
    raise InvalidArgumentError(argument="storage_options", reason=reason)


def _open(address: Address, store: dict[str, Any], common: dict[str, Any]) -> Any:
    match address.service:
        case Service.S3:
            if store.pop("path_style", None) is False:
                store["virtual_hosted_style_request"] = True
            if address.region is not None:
                store.setdefault("region", address.region)
            profile = store.pop("profile", None)
            if "credential_provider" not in common:
                from_profile = profile_options(profile, store, store_address=address.root)
                common |= {"credential_provider": from_profile} if callable(from_profile) else {}
                store = store if callable(from_profile) else from_profile | store
            common = own_credentials(address, store) | common
            store.pop("bucket", None)
            return S3Store(address.bucket, config=cast("Any", store), **common)
        case Service.AZURE:
            if address.account is not None:
                store.setdefault("account_name", address.account)
            if not _has_account(store):
                step = "set the storage option account_name, or AZURE_STORAGE_ACCOUNT_NAME"
                reason = "the address does not name the account"
                raise CredentialError(store=address.root, reason=reason, next_step=step)
            store.pop("container_name", None)
            common = own_credentials(address, store) | common
            return AzureStore(address.bucket, config=cast("Any", store), **common)
        case Service.GCS:
            store.pop("bucket", None)
            common = own_credentials(address, store) | common
            return GCSStore(address.bucket, config=cast("Any", store), **common)
        case Service.HTTP:
            del common["client_options"]["user_agent"]
            http = {"allow_http": True} | common.pop("client_options")
            return HTTPStore(address.bucket, client_options=http, **common)


def _has_account(store: dict[str, Any]) -> bool:
    is_named = {"account_name", "use_emulator"} & store.keys()
    return bool(is_named or any(map(os.environ.get, ACCOUNT_VARIABLES)))


def _allow_http(address: Address, store: dict[str, Any], client: dict[str, Any]) -> None:
    """Check the endpoint; allow plain HTTP to other machines only if the user asks for it."""
    endpoint = endpoint_of(address, store)
    if endpoint is None:
        return
    if not _ENDPOINT_FORM.fullmatch(endpoint):
        reason = "it is not the address of a server, such as https://s3.example.com:9000"
        raise InvalidArgumentError(argument="endpoint", reason=reason)
    if not endpoint.startswith("http://") or "allow_http" in client:
        return
    variable = os.environ.get("AWS_ALLOW_HTTP", os.environ.get("AZURE_ALLOW_HTTP", ""))
    if urlsplit(endpoint).hostname in _LOOPBACK or variable.lower() in {"true", "1"}:
        client["allow_http"] = True
        return
    reason = "the endpoint is not encrypted; set allow_http=true if that is what you want"
    raise InvalidArgumentError(argument="endpoint", reason=reason)


def endpoint_of(address: Address, store: dict[str, Any]) -> str | None:
    """Return the endpoint set by the options or the environment."""
    if address.service is Service.HTTP:
        return address.bucket
    named = store.get(_ENDPOINT[address.service])
    variables = _ENDPOINT_VARIABLES[address.service]
    return named or next((os.environ[name] for name in variables if os.environ.get(name)), None)
