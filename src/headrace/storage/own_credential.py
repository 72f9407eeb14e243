"""Keep credentials that are given as options apart from those of the environment.

The client merges options with the environment one by one. So it would send the keys of the options
with the session token of the environment, or prefer an account key of the environment to a
signature among the options. Credentials that the environment contradicts are therefore given to
the client by a function, which it prefers to everything else.
"""

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from headrace.errors import CredentialError
from headrace.storage.address import Address, Service

_TOKENS = ("AWS_SESSION_TOKEN", "AWS_TOKEN")
_AZURE_KEYS = (
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_MASTER_KEY",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
)
_AZURE_TOKENS = ("AZURE_STORAGE_TOKEN",)
_GOOGLE_FILES = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH")
_CREDENTIALS = {
    Service.S3: {"access_key_id", "role_arn", "web_identity_token_file"},
    Service.AZURE: {"account_key", "sas_key", "token", "client_id"},
    Service.GCS: {"service_account", "service_account_key", "bearer_token"},
    Service.HTTP: set[str](),
}


def own_credentials(address: Address, store: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of the client for credentials that the environment contradicts.

    Their options are removed from `store`.

    Raises:
        CredentialError: the client cannot tell the two apart.
    """
    service = address.service
    if _CREDENTIALS[service] & store.keys():
        store.setdefault("skip_signature", False)
    credentials: Mapping[str, Any] | None = None
    match service:
        case Service.S3:
            names = {"access_key_id", "secret_access_key"}
            if names <= store.keys() and "session_token" not in store and _is_set(_TOKENS):
                credentials = {name: store.pop(name) for name in names} | {"token": None}
        case Service.AZURE:
            if "sas_key" in store and _is_set(_AZURE_KEYS + _AZURE_TOKENS):
                credentials = {"sas_token": store.pop("sas_key").removeprefix("?")}
            elif "account_key" in store and _is_set(_AZURE_TOKENS):
                credentials = {"access_key": store.pop("account_key")}
        case Service.GCS:
            variable = next(filter(os.environ.get, _GOOGLE_FILES), None)
            if "service_account_key" in store and variable is not None:
                raise CredentialError(
                    store=address.root,
                    reason=f"the variable {variable} names other credentials than the options",
                    next_step="unset it, or give the option service_account",
                )
        case _:
            pass
    if credentials is None:
        return {}
    return {"credential_provider": partial(dict, credentials, expires_at=None)}


def _is_set(variables: tuple[str, ...]) -> bool:
    return any(map(os.environ.get, variables))
