"""Open the store of an address: a local folder, or a remote service with its client.

Addresses and storage options enter; stores leave.
"""

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

from headrace.errors import MissingExtraError, UnsupportedStoreError
from headrace.storage.address import SCHEMES, Address, Service, parse_address
from headrace.storage.local import LocalStore
from headrace.storage.location import local_root, scheme_of, without_secrets
from headrace.storage.option import HiddenOptions, check_local_options, full_address, parse_options
from headrace.storage.retrying_write import RetryingWritableStore
from headrace.storage.routing import RoutingStore
from headrace.storage.store import Store, WritableStore

_ADDRESSES = ("s3://", "az://", "abfss://", "gs://", "https://")


def open_store(uri: str, *, options: Mapping[str, Any] | None = None) -> Store:
    """Open the store whose root is the given address.

    Raises:
        UnsupportedStoreError: no store supports the scheme.
        MissingExtraError: the store is remote, and its client is not installed.
        UnknownStorageOptionError, InvalidArgumentError: the address or an option is wrong.
    """
    if scheme_of(uri) == "file":
        check_local_options(options)
        return LocalStore(local_root(uri))
    return _open_remote(uri, options)


def open_writable_store(uri: str, *, options: Mapping[str, Any] | None = None) -> WritableStore:
    """Open a store for reading and writing; transient failures are retried.

    Raises:
        UnsupportedStoreError, MissingExtraError, UnknownStorageOptionError, InvalidArgumentError:
            as for `open_store`.
    """
    if scheme_of(uri) == "file":
        check_local_options(options)
        return LocalStore(local_root(uri))
    return RetryingWritableStore(_open_remote(uri, options))


def _open_remote(uri: str, options: Mapping[str, Any] | None) -> WritableStore:
    """Open S3, Azure, Google Cloud Storage or a web server."""
    if scheme_of(uri) not in SCHEMES:
        known = ("local paths", "file://", *_ADDRESSES)
        raise UnsupportedStoreError(uri=without_secrets(uri), known=known)
    address = full_address(uri, options)
    store_options = parse_options(address.service, options)
    require("obstore", extra="cloud")
    from headrace.storage.cloud import CloudStore  # noqa: PLC0415
    from headrace.storage.web import WebStore  # noqa: PLC0415

    kind = WebStore if address.service is Service.HTTP else CloudStore
    return kind(address, store_options)


def open_files(store: Store, *, options: Mapping[str, Any] | None = None) -> Store:
    """Wrap a store so that it also opens files that the log names by absolute addresses."""
    is_remote = scheme_of(store.root) in SCHEMES
    home = full_address(store.root, options) if is_remote else None
    options = None if options is None else HiddenOptions(options)
    return RoutingStore(store, open_other=partial(_open_other, home=home, options=options))


def _open_other(uri: str, *, home: Address | None, options: Mapping[str, Any] | None) -> Store:
    """Open a store named in a log; another service, account or server gets no options."""
    is_remote = scheme_of(uri) in SCHEMES
    if home is not None and not (is_remote and home.lends_options_to(parse_address(uri))):
        options = None
    return open_store(uri, options=options)


def require(module: str, *, extra: str | None = None) -> Any:
    """Import an optional library.

    Raises:
        MissingExtraError: the library is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(module=module, extra=extra or module) from error
