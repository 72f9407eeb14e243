"""Maps remote addresses and storage options to Hadoop's file systems.

Headrace reads the log with its own client. Spark reads data files through Hadoop: addresses get
Hadoop's schemes, and storage options become its settings. Both apply to one DataFrame, not to the
session.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headrace.errors import FileSystemMissingError
from headrace.storage.address import Address, Service
from headrace.storage.location import scheme_of
from headrace.storage.option import full_address, parse_options

_AZURE_HOST = "dfs.core.windows.net"
_CLASSES = {
    Service.S3: "org.apache.hadoop.fs.s3a.S3AFileSystem",
    Service.AZURE: "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
    Service.GCS: "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
}
_PACKAGES = {
    Service.S3: "org.apache.hadoop:hadoop-aws:{hadoop}",
    Service.AZURE: "org.apache.hadoop:hadoop-azure:{hadoop}",
    Service.GCS: "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26",
}
_ANONYMOUS = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
_TEMPORARY = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"


def remote_address(root: str, options: Mapping[str, Any] | None) -> Address | None:
    """Return the address of a table in a store that Spark has a file system for; None if local."""
    if scheme_of(root) == "file":
        return None
    return full_address(root, options)


def spark_addresses(uris: Any, address: Address | None) -> Any:
    """Return an Arrow array of file addresses, with the schemes of Hadoop's file systems."""
    if address is None:
        return uris
    for pattern, scheme in _rewrites(address.account):
        uris = pc.replace_substring_regex(uris, pattern, scheme)
    return uris


def spark_address(uri: str, address: Address | None) -> str:
    """Return one address with the scheme of Hadoop's file system."""
    rewritten: str = spark_addresses(pa.array([uri]), address)[0].as_py()
    return rewritten


def _rewrites(account: str | None) -> list[tuple[str, str]]:
    rewrites = [
        (r"^s3n?://", "s3a://"),
        (r"^gcs://", "gs://"),
        (r"^abfss?://([^/@]+)@([^/.]+)/", rf"abfss://\1@\2.{_AZURE_HOST}/"),
    ]
    if account is not None:
        with_account = rf"abfss://\1@{account}.{_AZURE_HOST}/"
        rewrites.append((r"^(?:az|azure|abfss?|adl)://([^/@]+)/", with_account))
    return rewrites


def check_file_system(spark: SparkSession, address: Address | None) -> None:
    """Check that Spark can read the files of a store.

    Raises:
        FileSystemMissingError: Spark lacks the file system.
    """
    if address is None or address.service not in _CLASSES:
        return
    jvm: Any = spark.sparkContext._gateway.jvm  # type: ignore[union-attr]  # noqa: SLF001
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(_CLASSES[address.service])
    except Exception as error:
        hadoop = str(jvm.org.apache.hadoop.util.VersionInfo.getVersion())
        package = _PACKAGES[address.service].format(hadoop=hadoop)
        raise FileSystemMissingError(store=address.root, package=package) from error


def hadoop_settings(address: Address | None, options: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the Hadoop settings that correspond to storage options."""
    if address is None:
        return {}
    parsed_options = parse_options(address.service, options)
    match address.service:
        case Service.S3:
            return _s3(parsed_options.store, parsed_options.client)
        case Service.AZURE:
            return _azure(address, parsed_options.store)
        case Service.GCS:
            return _gcs(parsed_options.store)
        case _:
            return {}


def _s3(store: dict[str, Any], client: dict[str, Any]) -> dict[str, str]:
    setting_names = {
        "access_key_id": "fs.s3a.access.key",
        "secret_access_key": "fs.s3a.secret.key",
        "session_token": "fs.s3a.session.token",
        "region": "fs.s3a.endpoint.region",
        "endpoint": "fs.s3a.endpoint",
    }
    settings = {
        setting: str(store[option]) for option, setting in setting_names.items() if option in store
    }
    if "endpoint" in store:
        is_virtual = bool(store.get("virtual_hosted_style_request", False))
        settings["fs.s3a.path.style.access"] = str(not is_virtual).lower()
        is_plain = bool(client.get("allow_http")) or str(store["endpoint"]).startswith("http://")
        settings["fs.s3a.connection.ssl.enabled"] = str(not is_plain).lower()
    if store.get("skip_signature"):
        settings["fs.s3a.aws.credentials.provider"] = _ANONYMOUS
    elif "session_token" in store:
        settings["fs.s3a.aws.credentials.provider"] = _TEMPORARY
    return settings


def _azure(address: Address, store: dict[str, Any]) -> dict[str, str]:
    host = f"{address.account}.{_AZURE_HOST}"
    if "account_key" in store:
        return {f"fs.azure.account.key.{host}": str(store["account_key"])}
    if "sas_key" in store:
        return {
            f"fs.azure.account.auth.type.{host}": "SAS",
            f"fs.azure.sas.fixed.token.{host}": str(store["sas_key"]),
        }
    if "client_secret" in store:
        oauth = "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
        authority = store.get("authority_host", "https://login.microsoftonline.com")
        return {
            f"fs.azure.account.auth.type.{host}": "OAuth",
            f"fs.azure.account.oauth.provider.type.{host}": oauth,
            f"fs.azure.account.oauth2.client.id.{host}": str(store.get("client_id", "")),
            f"fs.azure.account.oauth2.client.secret.{host}": str(store["client_secret"]),
            f"fs.azure.account.oauth2.client.endpoint.{host}": (
                f"{authority}/{store.get('tenant_id', '')}/oauth2/token"
            ),
        }
    return {}


def _gcs(store: dict[str, Any]) -> dict[str, str]:
    settings = {}
    for name in ("service_account", "application_credentials"):
        if name in store:
            settings["google.cloud.auth.type"] = "SERVICE_ACCOUNT_JSON_KEYFILE"
            settings["google.cloud.auth.service.account.json.keyfile"] = str(store[name])
    if "base_url" in store:
        settings["fs.gs.storage.root.url"] = str(store["base_url"])
    return settings
