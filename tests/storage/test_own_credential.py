"""Credentials that are given as options are not mixed with those of the environment."""

import json
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import Table
from headrace.errors import CredentialError, HeadraceError, InvalidArgumentError
from headrace.storage.address import Service, parse_address
from headrace.storage.cloud_client import open_client
from headrace.storage.option import KNOWN, parse_options
from headrace.wiring import open_files, open_store
from tests.emulator.place import ACCESS_KEY, SECRET_KEY
from tests.emulator.saboteur import Answer, Saboteur, always, failure, s3_options, sabotaged


@pytest.fixture
def store() -> Iterator[Saboteur]:
    with sabotaged(always(failure(404, "NoSuchKey"))) as store:
        yield store


def sent_headers(store: Saboteur, uri: str, options: dict[str, Any]) -> dict[str, str]:
    """Return the headers of a request for an object."""
    with pytest.raises(HeadraceError):
        open_store(uri, options=options).read("x")
    return store.headers[0]


def test_keys_are_sent_without_the_session_token_of_the_environment(
    store: Saboteur, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "OTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    headers = sent_headers(store, "s3://b/t", s3_options(store.endpoint))
    assert "AKIAKEY" in headers["authorization"]
    assert "x-amz-security-token" not in headers


def test_a_token_among_the_options_is_sent(
    store: Saboteur, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    options = s3_options(store.endpoint) | {"session_token": "mine"}
    assert sent_headers(store, "s3://b/t", options)["x-amz-security-token"] == "mine"


def test_the_keys_of_a_profile_are_sent_without_the_token_of_the_environment(
    store: Saboteur, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "credentials"
    file.write_text("[p]\naws_access_key_id=PROFILE\naws_secret_access_key=s\nregion=eu-west-1\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    options = {"endpoint": store.endpoint, "profile": "p"}
    headers = sent_headers(store, "s3://b/t", options)
    assert "PROFILE" in headers["authorization"]
    assert "x-amz-security-token" not in headers


def test_keys_are_used_although_the_environment_says_anonymous(
    store: Saboteur, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert "authorization" in sent_headers(store, "s3://b/t", s3_options(store.endpoint))


def test_a_signature_is_used_although_the_environment_has_a_key(
    store: Saboteur, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "ZW52")
    options = {"account_name": "a", "endpoint": store.endpoint, "sas_token": "?sv=1&sig=a%2Bb"}
    assert "authorization" not in sent_headers(store, "az://c/t", options)
    assert store.requests == ["GET /c/t/x?sv=1&sig=a%2Bb"]


def test_a_key_is_used_although_the_environment_has_a_token(
    store: Saboteur, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_TOKEN", "other")
    options = {"account_name": "a", "endpoint": store.endpoint, "account_key": "b3du"}
    assert "SharedKey a:" in sent_headers(store, "az://c/t", options)["authorization"]


def test_a_google_key_that_the_environment_contradicts_names_the_variable(
    store: Saboteur, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    account = {"gcs_base_url": store.endpoint, "disable_oauth": True, "client_email": ""}
    key = json.dumps(account | {"private_key": "", "private_key_id": ""})
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "other.json"))
    with pytest.raises(CredentialError, match="GOOGLE_SERVICE_ACCOUNT"):
        open_store("gs://bucket/t", options={"service_account_key": key}).read("x")


def test_a_log_that_names_another_account_does_not_get_the_tables_options(
    store: Saboteur, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even a file of the same name in the table's own account is read instead."""
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", store.endpoint)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "ZW52")
    options = {"account_name": "mine", "endpoint": store.endpoint, "sas_token": "sv=1&sig=mine"}
    files = open_files(open_store("az://c/t", options=options), options=options)
    for address in ("abfss://c@mine.dfs.core.windows.net/t/x", "az://c/t/x"):
        with pytest.raises(HeadraceError):
            files.read(address)
        assert store.requests[-1] == "GET /c/t/x?sv=1&sig=mine"
    with pytest.raises(HeadraceError):
        files.read("abfss://c@other.dfs.core.windows.net/t/x")
    assert store.requests[-1] == "GET /c/t/x"
    assert "SharedKey other:" in store.headers[-1]["authorization"]


def test_an_address_and_an_option_that_name_two_accounts_are_refused() -> None:
    options = {"account_name": "mine", "account_key": "b3du"}
    with pytest.raises(InvalidArgumentError, match="other"):
        Table("abfss://c@other.dfs.core.windows.net/t", storage_options=options)


def test_a_log_that_names_another_web_server_does_not_get_the_tables_headers(
    store: Saboteur,
) -> None:
    options = {"default_headers": {"authorization": "Bearer mine"}}
    with sabotaged(always(failure(404))) as other:
        home = open_store(f"{store.endpoint}/t", options=options)
        files = open_files(home, options=options)
        for address in (f"{store.endpoint}/t/x", f"{other.endpoint}/t/x"):
            with pytest.raises(HeadraceError):
                files.read(address)
        assert store.headers[0]["authorization"] == "Bearer mine"
        assert "authorization" not in other.headers[0]


@pytest.mark.parametrize("endpoint", ["not an address", "http://", "ftp://host", "host:9000"])
def test_an_endpoint_that_is_no_address_is_refused(endpoint: str) -> None:
    with pytest.raises(InvalidArgumentError, match="endpoint"):
        open_store("s3://b/t", options=s3_options(endpoint)).read("x")


def test_a_client_that_panics_is_a_typed_failure(store: Saboteur) -> None:
    identity = {"role_arn": "arn:aws:iam::1:role/r", "web_identity_token_file": __file__}
    options = {"endpoint": store.endpoint, "region": "x", "sts_endpoint": "not an address"}
    with pytest.raises(HeadraceError) as raised:
        open_store("s3://b/t", options=options | identity).read("x")
    assert not getattr(raised.value, "transient", False)


@pytest.mark.parametrize("options", ["region=us", [("region", "us")], 5])
def test_options_that_are_no_mapping_are_refused(options: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="storage_options"):
        Table("s3://b/t", storage_options=options)


ASSUMED = f"""<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>{ACCESS_KEY}</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>
<SessionToken>assumed</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""


@pytest.fixture(scope="module")
def token_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Serve a role's credentials over TLS; return the address and the certificate."""
    folder = tmp_path_factory.mktemp("sts")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=l"
    names = "-addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE"
    subprocess.run(f"{command} {names}".split(), cwd=folder, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "cert", folder / "key")
    with sabotaged(always(Answer(200, ASSUMED.encode())), tls=tls) as service:
        address = service.endpoint.replace("http://127.0.0.1", "https://localhost")
        yield address, (folder / "cert").read_text()


@pytest.mark.parametrize("name", ["endpoint_url_sts", "AWS_ENDPOINT_URL_STS", "sts_endpoint"])
def test_a_role_is_assumed_with_a_web_identity(
    name: str,
    store: Saboteur,
    token_service: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "token").write_text("identity")
    address, certificate = token_service
    options = {
        "endpoint_url": store.endpoint,
        "region": "us-east-1",
        "role_arn": "arn:aws:iam::123456789012:role/reader",
        "web_identity_token_file": str(tmp_path / "token"),
        "root_certificate": certificate,
        name: address,
    }
    headers = sent_headers(store, "s3://b/t", options)
    assert ACCESS_KEY in headers["authorization"]
    assert headers["x-amz-security-token"] == "assumed"


@pytest.mark.parametrize(
    ("uri", "service"),
    [("s3://b", Service.S3), ("az://b", Service.AZURE), ("gs://bucket", Service.GCS)],
)
def test_every_known_option_is_known_to_the_client_too(uri: str, service: Service) -> None:
    required = {"account_name": "a"} if service is Service.AZURE else {}
    unknown = []
    for name in sorted(KNOWN[service]):
        options = parse_options(service, required | {name: "true"})
        try:
            open_client(parse_address(uri), options)
        except HeadraceError as error:
            unknown += [name] if "UnknownConfigurationKey" in str(error) else []
    assert unknown == []
