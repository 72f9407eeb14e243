import pickle
from pathlib import Path
from typing import Any

import pytest

from headrace import Table
from headrace.errors import (
    CredentialError,
    InvalidArgumentError,
    UnknownStorageOptionError,
    UnsupportedStoreError,
)
from headrace.storage.address import Address, Service, parse_address
from headrace.storage.option import HiddenOptions, parse_options
from headrace.storage.profile import profile_options
from headrace.wiring import open_files, open_store

SECRET = "hUsHhUsHhUsH"


def parts(uri: str) -> tuple[Service, str, str, str | None]:
    address: Address = parse_address(uri)
    return address.service, address.bucket, address.prefix, address.account


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://b/a/t/", (Service.S3, "b", "a/t", None)),
        ("s3a://b", (Service.S3, "b", "", None)),
        ("gs://b/a%20b", (Service.GCS, "b", "a b", None)),
        ("az://c/t", (Service.AZURE, "c", "t", None)),
        ("abfss://c@acc.dfs.core.windows.net/t", (Service.AZURE, "c", "t", "acc")),
        ("abfss://c@acc/t", (Service.AZURE, "c", "t", "acc")),
        ("abfs://c/t", (Service.AZURE, "c", "t", None)),
        ("adl://c/t", (Service.AZURE, "c", "t", None)),
        ("https://acc.blob.core.windows.net/c/t/u", (Service.AZURE, "c", "t/u", "acc")),
        ("https://b.s3.eu-west-1.amazonaws.com/t", (Service.S3, "b", "t", None)),
        ("https://s3.eu-west-1.amazonaws.com/b/t", (Service.S3, "b", "t", None)),
        ("https://storage.googleapis.com/b/t", (Service.GCS, "b", "t", None)),
        ("https://example.com/lake/t", (Service.HTTP, "https://example.com", "lake/t", None)),
    ],
)
def test_an_address_names_service_bucket_prefix_and_account(
    uri: str, expected: tuple[Service, str, str, str | None]
) -> None:
    assert parts(uri) == expected


@pytest.mark.parametrize(
    "uri",
    [
        "s3:///t",
        "s3://b/../t",
        f"https://acc.blob.core.windows.net/c/t?sig={SECRET}",
        f"https://user:{SECRET}@example.com/t",
        f"s3://user:{SECRET}@bucket/t",
        f"abfss://user:{SECRET}@account/t",
        f"s3://user:{SECRET}@bucket/t?versionId=1",
        f"https://user:{SECRET}@example.com/t#part",
        f"s3://user:{SECRET}?@bucket/t",
        f"s3://user:{SECRET}@bucket/../t",
        f"file://user:{SECRET}@host/t",
        "s3:/bucket/t",
    ],
)
def test_an_address_without_a_bucket_or_with_a_secret_is_refused_and_not_repeated(uri: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        Table(uri)
    assert SECRET not in str(raised.value)


def test_an_unknown_scheme_names_the_known_ones() -> None:
    with pytest.raises(UnsupportedStoreError, match="abfss://"):
        open_store("hdfs://cluster/t")


@pytest.mark.parametrize("uri", [f"hdfs://user:{SECRET}@cluster/t", f"ftp://u:{SECRET}?@host"])
def test_an_unknown_scheme_does_not_repeat_a_password(uri: str) -> None:
    with pytest.raises(UnsupportedStoreError, match="no store supports") as raised:
        open_store(uri)
    assert SECRET not in str(raised.value)
    assert SECRET not in repr(vars(raised.value))


@pytest.mark.parametrize(
    ("service", "name", "expected"),
    [
        (Service.S3, "AWS_ACCESS_KEY_ID", "access_key_id"),
        (Service.S3, "aws_endpoint_url", "endpoint"),
        (Service.S3, "aws_session_token", "session_token"),
        (Service.S3, "access_key_id", "access_key_id"),
        (Service.AZURE, "azure_storage_account_name", "account_name"),
        (Service.AZURE, "AZURE_STORAGE_SAS_TOKEN", "sas_key"),
        (Service.AZURE, "azure_client_secret", "client_secret"),
        (Service.GCS, "google_service_account_path", "service_account"),
        (Service.GCS, "google_application_credentials", "application_credentials"),
    ],
)
def test_the_option_names_of_other_libraries_are_accepted(
    service: Service, name: str, expected: str
) -> None:
    assert parse_options(service, {name: "x"}).store == {expected: "x"}


def test_client_options_switches_and_locks_of_other_writers_are_accepted() -> None:
    storage_options = {
        "AWS_ALLOW_HTTP": "true",
        "timeout": "5s",
        "AWS_S3_LOCKING_PROVIDER": "dynamodb",
    }
    options = parse_options(Service.S3, storage_options | {"anonymous": "yes"})
    assert options.client == {"allow_http": True, "timeout": "5s"}
    assert options.store == {"skip_signature": True}


def test_an_unknown_option_names_the_nearest_one_and_not_its_value() -> None:
    with pytest.raises(UnknownStorageOptionError, match="access_key_id") as raised:
        Table("s3://b/t", storage_options={"aws_acess_key_id": SECRET})
    assert raised.value.nearest == "access_key_id"
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {"skip_signature": "perhaps"},
        {"access_key_id": object()},
        {"credential_provider": "not callable"},
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        Table("s3://b/t", storage_options=options)


def test_a_store_or_its_options_but_not_both(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError):
        Table("s3://b/t", store=open_store(str(tmp_path)), storage_options={"region": "x"})


def test_plain_http_to_another_machine_must_be_allowed() -> None:
    store = open_store("s3://b/t", options={"endpoint": "http://s3.example.com", "region": "x"})
    with pytest.raises(InvalidArgumentError, match="allow_http"):
        store.read("a")


def test_an_azure_address_without_an_account_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT", "AZURE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CredentialError, match="account_name"):
        open_store("az://c/t").read("a")


def test_a_profile_gives_keys_and_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ".aws"
    folder.mkdir()
    keys = f"[lake]\naws_access_key_id = K\naws_secret_access_key = {SECRET}\n"
    (folder / "credentials").write_text(keys)
    (folder / "config").write_text("[profile lake]\nregion = eu-west-1\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    expected = {"access_key_id": "K", "secret_access_key": SECRET, "region": "eu-west-1"}
    assert profile_options("lake", {}, store_address="s3://b") == expected
    assert profile_options(None, {}, store_address="s3://b") == {}
    with pytest.raises(CredentialError, match="no profile"):
        profile_options("sea", {}, store_address="s3://b")


def test_no_text_of_a_table_or_store_contains_a_secret() -> None:
    options = {"access_key_id": "K", "secret_access_key": SECRET, "region": "us-east-1"}
    table = Table("s3://b/t", storage_options=options)
    store = open_store("s3://b/t", options=options)
    files = open_files(store, options=options)
    shown = [table, store, files, table.executor, parse_options(Service.S3, options)]
    shown += [HiddenOptions(options), vars(files), vars(store), table._repr_html_()]
    assert [text for each in shown for text in (repr(each), str(each)) if SECRET in text] == []
    assert SECRET.encode() in pickle.dumps(store)  # a worker needs it, but it is never shown


def test_an_unknown_option_of_a_local_table_is_an_error(tmp_path: Path) -> None:
    Table(tmp_path, storage_options={"aws_region": "eu-west-1", "account_name": "lake"})
    with pytest.raises(UnknownStorageOptionError, match="do you mean region"):
        Table(tmp_path, storage_options={"regoin": "eu-west-1"})
