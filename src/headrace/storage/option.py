"""Parse storage options, under the names that deltalake, polars and obstore use.

A mapping enters; checked options under the client's own names leave. Values may be secrets, so
they appear in no `repr` and in no error.
"""

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec.structs import replace

from headrace.errors import InvalidArgumentError, UnknownStorageOptionError
from headrace.storage.address import Address, Service, parse_address

_S3 = """access_key_id secret_access_key session_token region default_region endpoint bucket
 checksum_algorithm conditional_put container_credentials_relative_uri
 container_credentials_full_uri container_authorization_token_file copy_if_not_exists
 disable_tagging disable_bulk_delete imdsv1_fallback metadata_endpoint request_payer role_arn
 role_session_name s3_express server_side_encryption skip_signature sse_bucket_key_enabled
 sse_customer_key_base64 sse_kms_key_id endpoint_url_sts unsigned_payload
 virtual_hosted_style_request web_identity_token_file"""
_AZURE = """account_name account_key client_id client_secret tenant_id authority_host sas_key token
 use_emulator use_fabric_endpoint endpoint msi_endpoint object_id msi_resource_id
 federated_token_file use_azure_cli skip_signature container_name disable_tagging
 fabric_token_service_url fabric_workload_host fabric_session_token fabric_cluster_identifier"""
_GCS = "service_account service_account_key base_url bucket application_credentials skip_signature"
_CLIENT = """allow_http allow_invalid_certificates connect_timeout read_timeout timeout proxy_url
 proxy_ca_certificate proxy_excludes root_certificate user_agent pool_idle_timeout
 pool_max_idle_per_host default_headers randomize_addresses"""

_ALIASES: dict[Service, dict[str, str]] = {
    Service.S3: {
        "endpoint_url": "endpoint",
        "endpoint_url_s3": "endpoint",
        "sts_endpoint": "endpoint_url_sts",
        "token": "session_token",
        "no_sign_request": "skip_signature",
        "anon": "skip_signature",
        "anonymous": "skip_signature",
        "force_path_style": "path_style",
        "path_style": "path_style",
        "profile": "profile",
        "requester_pays": "request_payer",
        "assume_role_arn": "role_arn",
        "iam_role_arn": "role_arn",
        "iam_role_session_name": "role_session_name",
        # Locking between writers of other libraries; not needed for reading.
        "s3_locking_provider": "",
        "s3_allow_unsafe_rename": "",
        "s3_dynamo_db_table": "",
    },
    Service.AZURE: {
        "access_key": "account_key",
        "master_key": "account_key",
        "authority_id": "tenant_id",
        "sas_token": "sas_key",
        "bearer_token": "token",
        "endpoint_url": "endpoint",
        "identity_endpoint": "msi_endpoint",
        "use_azurite": "use_emulator",
        "anon": "skip_signature",
        "anonymous": "skip_signature",
    },
    Service.GCS: {
        "service_account_path": "service_account",
        "token": "bearer_token",
        "bearer_token": "bearer_token",
        "anon": "skip_signature",
        "anonymous": "skip_signature",
        "endpoint": "base_url",
        "endpoint_url": "base_url",
        "bucket_name": "bucket",
    },
    Service.HTTP: {},
}
KNOWN = {
    Service.S3: frozenset(_S3.split()),
    Service.AZURE: frozenset(_AZURE.split()),
    Service.GCS: frozenset(_GCS.split()),
    Service.HTTP: frozenset[str](),
}
"""The names of the options of each client."""
_CLIENT_KNOWN = frozenset(_CLIENT.split())
_PREFIXES = {
    Service.S3: ("aws_", "s3_"),
    Service.AZURE: ("azure_storage_", "azure_"),
    Service.GCS: ("google_cloud_", "google_", "gcs_"),
    Service.HTTP: ("http_",),
}
PROVIDER = "credential_provider"
ACCOUNT_VARIABLES = (
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_ACCOUNT",
    "AZURE_ACCOUNT_NAME",
)
"""The environment variables that name an Azure account."""
_SWITCH = {"true": True, "1": True, "yes": True, "on": True}
_SWITCH |= {"false": False, "0": False, "no": False, "off": False}
_SWITCHES = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "path_style",
        "randomize_addresses",
        "skip_signature",
        "use_emulator",
        "virtual_hosted_style_request",
    }
)


class HiddenOptions(dict[str, Any]):
    """Options whose values are hidden from `repr`."""

    def __repr__(self) -> str:
        """Show the names only: any value may be a secret."""
        return f"<options {', '.join(map(str, self)) or 'none'}>"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values as well: the process that reads needs them."""
        return HiddenOptions, (dict(self),)


class StorageOptions(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Options of one store, under the client's names."""

    service: Service
    store: dict[str, Any]
    client: dict[str, Any]
    provider: Any = None
    """A callable that returns credentials, if the user supplies one."""

    def __repr__(self) -> str:
        """Show which options are set but no values: any value may be a secret."""
        return f"StorageOptions({self.service.value}: {', '.join(self.names) or 'none'})"

    __str__ = __repr__

    @property
    def names(self) -> list[str]:
        """The names of the options that are set."""
        provider = [PROVIDER] if self.provider is not None else []
        return sorted([*self.store, *self.client, *provider])


def parse_options(service: Service, options: Mapping[str, Any] | None) -> StorageOptions:
    """Check options and map each to the client's name for it.

    Raises:
        UnknownStorageOptionError: the service has no such option.
        InvalidArgumentError: a value has the wrong type, or `options` is not a mapping.
    """
    _check_mapping(options)
    store: dict[str, Any] = {}
    client: dict[str, Any] = {}
    provider = None
    for name, value in (options or {}).items():
        if name == PROVIDER:
            if not callable(value):
                reason = "it must be a callable that returns credentials"
                raise InvalidArgumentError(argument=PROVIDER, reason=reason)
            provider = value
            continue
        key, target = _resolve(service, name, store, client)
        if key:
            target[key] = _checked(name, key, value)
    return StorageOptions(service=service, store=store, client=client, provider=provider)


def check_local_options(options: Mapping[str, Any] | None) -> None:
    """Check options given for a local store, which uses none.

    Options of any remote store are accepted: one set of options may serve tables in several places.

    Raises:
        UnknownStorageOptionError: no store has such an option.
        InvalidArgumentError: `options` is not a mapping.
    """
    _check_mapping(options)
    for name in options or {}:
        if name != PROVIDER and not any(_is_known(service, name) for service in Service):
            plain = str(name).lower()
            raise _unknown(name, [plain], services=Service, store="a local path")


def _is_known(service: Service, name: object) -> bool:
    try:
        _resolve(service, name, {}, {})
    except UnknownStorageOptionError:
        return False
    return True


def _check_mapping(options: object) -> None:
    if not isinstance(options, Mapping | None):
        reason = "it must be a mapping from names to values"
        raise InvalidArgumentError(argument="storage_options", reason=reason)


def full_address(uri: str, options: Mapping[str, Any] | None) -> Address:
    """Parse an address; an account that it does not name comes from the options or environment.

    Raises:
        InvalidArgumentError: the address is wrong, or the options name another account.
        UnknownStorageOptionError: the service has no such option.
    """
    address = parse_address(uri)
    if address.service is not Service.AZURE:
        return address
    account = parse_options(Service.AZURE, options).store.get("account_name")
    if account is not None and address.account not in {None, account}:
        reason = f"the address names another account, {address.account}; leave the option out"
        raise InvalidArgumentError(argument="account_name", reason=reason)
    account = account or next(filter(None, map(os.environ.get, ACCOUNT_VARIABLES)), None)
    return replace(address, account=address.account or account)


def _resolve(
    service: Service, name: object, store: dict[str, Any], client: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    plain = str(name).lower().replace("-", "_").replace(".", "_")
    spellings = [plain]
    spellings += [
        plain.removeprefix(prefix) for prefix in _PREFIXES[service] if plain.startswith(prefix)
    ]
    for spelling in spellings:
        key = _ALIASES[service].get(spelling, spelling)
        if not key or key in KNOWN[service] or key in {"profile", "path_style", "bearer_token"}:
            if key == "bearer_token" and service is not Service.GCS:
                continue
            return key, store
        if key in _CLIENT_KNOWN:
            return key, client
    raise _unknown(name, spellings, services=(service,), store=service.value)


def _unknown(
    name: object, spellings: list[str], *, services: Iterable[Service], store: str
) -> UnknownStorageOptionError:
    known = {*_CLIENT_KNOWN, PROVIDER}
    for service in services:
        known |= {*KNOWN[service], *_ALIASES[service]}
    nearest = next(
        (
            match[0]
            for s in reversed(spellings)
            if (match := get_close_matches(s, sorted(known), 1))
        ),
        None,
    )
    return UnknownStorageOptionError(option=str(name), store=store, nearest=nearest)


def _checked(name: str, key: str, value: Any) -> Any:
    if key in _SWITCHES and not isinstance(value, bool):
        switch = _SWITCH.get(str(value).lower())
        if switch is None:
            raise InvalidArgumentError(argument=name, reason="it must be true or false")
        return switch
    if key == "default_headers" and isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, str | int | float | bool):
        reason = f"it must be text, not {type(value).__name__}"
        raise InvalidArgumentError(argument=name, reason=reason)
    return value if isinstance(value, bool) else str(value)
