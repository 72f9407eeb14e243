"""Convert Headrace storage options into storage options for deltalake."""

from collections.abc import Mapping
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.storage.address import Service, parse_address
from headrace.storage.location import scheme_of
from headrace.storage.option import PROVIDER, parse_options
from headrace.storage.profile import profile_options


def deltalake_options(uri: str, options: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the options for opening an address with deltalake; empty for a local path.

    Raises:
        InvalidArgumentError: credentials come from a callable, which deltalake does not accept.
        CredentialError: the profile does not exist.
    """
    if scheme_of(uri) == "file":
        return {}
    address = parse_address(uri)
    storage_options = parse_options(address.service, options)
    store = dict(storage_options.store)
    if address.service is Service.S3:
        profile = store.pop("profile", None)
        if store.pop("path_style", None) is False:
            store["virtual_hosted_style_request"] = True
        from_profile = profile_options(profile, store, store_address=address.root)
        if callable(from_profile) or storage_options.provider is not None:
            reason = "deltalake, which writes checkpoints, does not take one"
            raise InvalidArgumentError(argument=PROVIDER, reason=reason)
        store = from_profile | store
    if address.account is not None:
        store.setdefault("account_name", address.account)
    is_plain = any(str(value).startswith("http://") for value in store.values())
    client = {**({"allow_http": True} if is_plain else {}), **storage_options.client}
    return {name: _text(value) for name, value in (store | client).items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
