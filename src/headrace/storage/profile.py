"""Read credentials from AWS profiles, which the client itself does not support.

Keys in the profile files are used directly. A profile that needs more (single sign-on, an assumed
role, a process) is delegated to boto3, if it is installed.
"""

import os
from collections.abc import Callable
from configparser import ConfigParser, Error
from importlib import import_module
from pathlib import Path
from typing import Any

from headrace.errors import CredentialError

_OWN = (
    "access_key_id",
    "secret_access_key",
    "skip_signature",
    "web_identity_token_file",
    "container_credentials_relative_uri",
    "container_credentials_full_uri",
)
_KEYS = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
    "region": "region",
    "endpoint_url": "endpoint",
}
_NEEDS_BOTO = ("role_arn", "sso_session", "sso_start_url", "credential_process", "login_session")


def profile_options(
    profile: str | None, store: dict[str, Any], *, store_address: str
) -> dict[str, Any] | Callable[[], Any]:
    """Return the options that a profile adds, or a credential provider.

    Without a profile name, the default profile is used unless other credentials are configured.

    Raises:
        CredentialError: the profile does not exist, or it needs boto3, which is not installed.
    """
    named = profile or os.environ.get("AWS_PROFILE")
    has_own = any(name in store or f"AWS_{name.upper()}" in os.environ for name in _OWN)
    if has_own and profile is None:
        return {}
    settings = _read(named or "default")
    if not settings and named is None:
        return {}
    if not settings:
        step = "check AWS_PROFILE and the files of ~/.aws"
        raise CredentialError(
            store=store_address, reason=f"there is no profile {named!r}", next_step=step
        )
    if any(name in settings for name in _NEEDS_BOTO):
        return _by_boto(named or "default", store_address)
    return {ours: settings[theirs] for theirs, ours in _KEYS.items() if theirs in settings}


def _read(profile: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    folder = Path.home() / ".aws"
    sources = (
        (os.environ.get("AWS_CONFIG_FILE") or folder / "config", (f"profile {profile}", profile)),
        (os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or folder / "credentials", (profile,)),
    )
    for file, sections in sources:
        parser = ConfigParser(interpolation=None)
        try:
            parser.read(file)
        except (Error, OSError, UnicodeDecodeError):
            continue
        for section in sections:
            if parser.has_section(section):
                settings |= dict(parser.items(section))
    return settings


def _by_boto(profile: str, store_address: str) -> Callable[[], Any]:
    try:
        boto3 = import_module("boto3")
        provider = import_module("obstore.auth.boto3").Boto3CredentialProvider
    except ModuleNotFoundError as error:
        raise CredentialError(
            store=store_address,
            reason=f"the profile {profile!r} takes a role, single sign-on or a process",
            next_step="run: pip install boto3",
        ) from error
    credentials: Callable[[], Any] = provider(boto3.Session(profile_name=profile))
    return credentials
