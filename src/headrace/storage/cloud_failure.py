"""Translate errors of the remote store client into typed errors.

The client's error text contains the request's address, which may include a signature. So only the
status and the service's own error code are passed on.
"""

import re

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    PermissionDeniedError,
    UnauthenticatedError,
)

from headrace.errors import (
    AccessDeniedError,
    BucketNotFoundError,
    CredentialError,
    HeadraceError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoreFailedError,
    StoreThrottledError,
    UnsafePathError,
    WrongRegionError,
)
from headrace.storage.address import Address, Service

_STATUS = re.compile(r"status code: (\d{3})")
_WORDS = r"(?:[A-Z]{1,6}[a-z]+[0-9]{0,4}|[A-Z]{2,6}[0-9]{1,4})"
_SERVICE_CODE = re.compile(
    rf"<Code>(?=.{{2,80}}<)({_WORDS}+)</Code>|\"reason\": ?\"(?=.{{2,80}}\")([a-z]+{_WORDS}*)\""
)
"""Joined words only: a server may put anything there, even a part of the request's signature."""
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
_SKEWED = frozenset({"RequestTimeTooSkewed", "RequestExpired"})
_WRONG_KEY = frozenset(
    {
        "AuthenticationFailed",
        "InvalidAccessKeyId",
        "InvalidAuthenticationInfo",
        "InvalidClientTokenId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound", "AccountNotFound"})
_REGION = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)
_THROTTLED = frozenset({"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded"})
_PANIC = "RustPanic"
"""The type of the error if the client itself fails, which it does not export."""
_UNDECIDED = frozenset({"ConditionalRequestConflict", "OperationAborted"})
"""Several writers created an object at the same time, and this one should try again."""
_SERVER_ERROR, _TOO_MANY, _UNAVAILABLE, _NOT_FOUND = 500, 429, 503, 404
_TIMEOUT, _UNAUTHENTICATED, _FORBIDDEN = 408, 401, 403
UNSATISFIABLE = 416
_METADATA = re.compile(
    r"performing \w+ https?://[^/\s]+"
    r"/(latest/api/token|latest/meta-data/|metadata/identity/|computeMetadata/)"
)
"""A request for the credentials of a machine, which other machines refuse."""
_UNTRUSTED = ("invalid peer certificate", "InvalidCertificate", "certificate verify failed")

SET_UP = {
    Service.S3: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the storage "
    "options of the same names; for a public bucket set skip_signature=true",
    Service.AZURE: "set AZURE_STORAGE_ACCOUNT_KEY, a SAS token, or the storage options account_key "
    "or sas_token; for a public container set skip_signature=true",
    Service.GCS: "set GOOGLE_APPLICATION_CREDENTIALS or the storage option service_account; for a "
    "public bucket set skip_signature=true",
    Service.HTTP: "the server asks for credentials, which Headrace does not send",
}


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status in an error of the client, or None."""
    return _status_in(str(error))


def _status_in(text: str) -> int | None:
    match = _STATUS.search(text)
    return int(match[1]) if match else None


def cloud_error(path: str, error: BaseException, address: Address) -> HeadraceError | None:
    """Return the typed error for an exception, or None if it did not come from the client."""
    if isinstance(error, TimeoutError):
        return StoreFailedError(path=path, reason="the store did not answer in time")
    text = str(error)
    match = _SERVICE_CODE.search(text)
    code = (match[1] or match[2]) if match else ""
    store = address.root
    if isinstance(error, FileNotFoundError):
        is_bucket = code in _NO_BUCKET or "bucket does not exist" in text
        return BucketNotFoundError(store=store) if is_bucket else ObjectNotFoundError(path=path)
    if isinstance(error, AlreadyExistsError):
        if code in _UNDECIDED:
            return StoreFailedError(path=path, reason=f"the store answered {code}")
        return ObjectExistsError(path=path)
    if isinstance(error, InvalidPathError):
        return UnsafePathError(path=path, reason="no store has an object of that name")
    if type(error).__name__ == _PANIC:
        return StoreFailedError(path=path, reason="the client failed", transient=False)
    if not isinstance(error, BaseError | OSError | ValueError):
        return None
    return (
        _by_metadata(text, address)
        or _by_code(path, error, address, code)
        or _by_text(path, text, address, code)
    )


def _by_metadata(text: str, address: Address) -> StorageError | None:
    """Return the error for a machine that has no credentials; its refusal is not the store's."""
    status = _status_in(text)
    is_refusal = status is not None and status < _SERVER_ERROR
    if not is_refusal or status in {_TIMEOUT, _TOO_MANY} or not _METADATA.search(text):
        return None
    return _no_credentials(address)


def _no_credentials(address: Address) -> CredentialError:
    reason = "there are no credentials"
    return CredentialError(store=address.root, reason=reason, next_step=SET_UP[address.service])


def _by_code(path: str, error: BaseException, address: Address, code: str) -> StorageError | None:
    store, status = address.root, status_of(error)
    if code in _EXPIRED:
        reason = f"the credentials have expired ({code})"
        return CredentialError(store=store, reason=reason, next_step="renew them, and run again")
    if code in _SKEWED:
        reason = f"the clock of this machine differs too much from the store's ({code})"
        return CredentialError(store=store, reason=reason, next_step="set the clock")
    if code in _WRONG_KEY:
        reason = f"the store does not accept the credentials ({code})"
        return CredentialError(store=store, reason=reason, next_step="check keys and account")
    if code in _REGION:
        return WrongRegionError(store=store)
    if code in _NO_BUCKET:
        return BucketNotFoundError(store=store)
    if isinstance(error, UnauthenticatedError) or status == _UNAUTHENTICATED:
        reason = "the store asks for credentials that it can verify"
        return CredentialError(store=store, reason=reason, next_step=SET_UP[address.service])
    if isinstance(error, PermissionDeniedError) or status == _FORBIDDEN:
        return AccessDeniedError(path=path, store=store, reason=code or "403")
    if code in _THROTTLED or status in {_TOO_MANY, _UNAVAILABLE}:
        return StoreThrottledError(path=path, reason=f"{status or ''} {code}".strip())
    return None


def _by_text(path: str, text: str, address: Address, code: str) -> StorageError:
    status = _status_in(text)
    if "redirect without LOCATION" in text:
        return WrongRegionError(store=address.root)
    if status == _NOT_FOUND and "bucket does not exist" in text:
        return BucketNotFoundError(store=address.root)
    if status is None and _is_about_credentials(text, address.service):
        return _no_credentials(address)
    if status is None and any(mark in text for mark in _UNTRUSTED):
        reason = "the store's TLS certificate is not trusted (the storage option root_certificate)"
        return StoreFailedError(path=path, reason=reason, transient=False)
    reason = f"the store answered {status} {code}".strip() if status else _connection(text)
    is_refusal = status is not None and status < _SERVER_ERROR and status != _TIMEOUT
    return StoreFailedError(path=path, reason=reason, transient=not is_refusal)


def _is_about_credentials(text: str, service: Service) -> bool:
    marks = {
        Service.S3: ("/latest/api/token", "/latest/meta-data/", "credentials"),
        Service.AZURE: ("/metadata/identity", "oauth2", "credential"),
        Service.GCS: ("metadata.google.internal", "169.254.169.254", "credential", "oauth2"),
        Service.HTTP: (),
    }
    return any(mark in text for mark in marks[service])


def _connection(text: str) -> str:
    if "kind: Timeout" in text or "TimedOut" in text:
        return "the store did not answer in time"
    if "kind: Connect" in text:
        return "the store cannot be reached"
    if "body error" in text or "kind: Decode" in text or "IncompleteMessage" in text:
        return "the response ended early"
    return "the request failed"
