"""Reads `headrace.toml`: what a project reads, how it runs, and where its results go.

Each TOML table is one struct; an unknown key is an error that names it.
"""

import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from headrace.errors import InvalidProjectError
from headrace.pipeline.arrow_ddl import parse_schema
from headrace.pipeline.project.profile import PRESETS, Profile, merge_profile
from headrace.pipeline.project.setting import Settings, VariableValue, check_variable
from headrace.storage.address import SCHEMES
from headrace.storage.location import scheme_of

MANIFEST = "headrace.toml"
_SHORTEST_LEASE_S = 2

T = TypeVar("T")


class ProjectTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[project]`."""

    name: str
    description: str = ""
    outputs: str = "output"
    """The folder of the tables that views are written to, or its address in a store."""
    state: str = ".headrace"
    """The folder of staging tables and of the artifact store, or its address in a store."""
    options: dict[str, str] = {}
    """Settings of the store that `outputs` and `state` are in; `env:NAME` is a variable."""
    lease_seconds: int = 60
    """After how long without renewal the run lock of a state folder in a store expires."""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("name: it must not be empty; use the name of the folder, for example")
        for key in ("outputs", "state"):
            scheme = scheme_of(getattr(self, key))
            if scheme in {"http", "https"} or scheme not in {"file", *SCHEMES}:
                raise ValueError(f"{key}: it must be a folder, or an address such as s3://lake/x")
        if self.lease_seconds < _SHORTEST_LEASE_S:
            raise ValueError(f"lease_seconds: it must be {_SHORTEST_LEASE_S} or more")


class SourceSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table `[sources.NAME]`: a source that views can read."""

    uri: str
    """The address; a relative path is relative to the project's folder."""
    kind: str = "delta"
    """`delta`, `parquet`, or the name of an entry point in the group `headrace.sources`."""
    version: int | None = None
    """The version to read; by default the newest at planning time."""
    as_of: str | None = None
    """The time to read the table as of, in ISO 8601."""
    schema: str | None = None
    """The columns, in Spark's DDL; required for Parquet and for optional sources."""
    optional: bool = False
    """Whether the source may be missing; it is then empty, and the plan says so."""
    options: dict[str, str] = {}
    """Options of the store, or of a custom source kind."""
    description: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The checked content of `headrace.toml`."""

    project: ProjectTable
    sources: dict[str, SourceSpec]
    settings: Settings
    variables: dict[str, VariableValue]
    profiles: dict[str, Profile]


_TABLES = ("project", "sources", "settings", "variables", "profiles")


def read_manifest(file: Path) -> Manifest:
    """Read and check `headrace.toml`.

    Raises:
        InvalidProjectError: the file is not TOML, or a key or value is invalid; it names both.
    """
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidProjectError(file=str(file), key="(syntax)", reason=str(error)) from error
    return _ManifestReader(str(file)).manifest(tables)


class _ManifestReader:
    """Converts table by table, so that errors name the key."""

    def __init__(self, file: str) -> None:
        self.file = file

    def manifest(self, tables: Mapping[str, Any]) -> Manifest:
        for key in tables:
            if key not in _TABLES:
                raise self.error(key, f"there is no such table; there are {', '.join(_TABLES)}")
        if "project" not in tables:
            raise self.error("project", 'the table is missing; it needs at least name = "..."')
        return Manifest(
            project=self.convert("project", tables["project"], ProjectTable),
            sources={
                self.name("sources", name): self.source(name, table)
                for name, table in self.table("sources", tables).items()
            },
            settings=self.convert("settings", tables.get("settings", {}), Settings),
            variables={
                self.name("variables", name): self.variable(name, value)
                for name, value in self.table("variables", tables).items()
            },
            profiles=self.profiles(self.table("profiles", tables)),
        )

    def error(self, key: str, reason: str) -> InvalidProjectError:
        return InvalidProjectError(file=self.file, key=key, reason=reason)

    def table(self, key: str, tables: Mapping[str, Any]) -> Mapping[str, Any]:
        table = tables.get(key, {})
        if not isinstance(table, Mapping):
            raise self.error(key, "it must be a table, not a value")
        return table

    def convert(self, key: str, value: Any, kind: type[T]) -> T:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            # "Expected `int`, got `str` - at `$.version`" becomes a key of the file.
            reason, _, path = str(error).partition(" - at `")
            subkey = path.removesuffix("`").removeprefix("$").replace("[...]", "")
            raise self.error(f"{key}{subkey}", _reworded(reason)) from error

    def name(self, key: str, name: str) -> str:
        if not name.isidentifier() or name != name.casefold():
            reason = "use lower-case letters, digits and underscores, and no digit first"
            raise self.error(f"{key}.{name}", reason)
        return name

    def source(self, name: str, value: Any) -> SourceSpec:
        key = f"sources.{name}"
        if isinstance(value, Mapping) and isinstance(value.get("as_of"), date):
            value = {**value, "as_of": value["as_of"].isoformat()}  # TOML has date and time types
        spec = self.convert(key, value, SourceSpec)
        if spec.version is not None and spec.as_of is not None:
            raise self.error(f"{key}.as_of", "set either as_of or version, not both")
        if spec.version is not None and spec.version < 0:
            raise self.error(f"{key}.version", f"it must be 0 or more, not {spec.version}")
        if spec.schema is None and (spec.optional or spec.kind == "parquet"):
            subject = "an optional source" if spec.optional else "a Parquet source"
            raise self.error(f"{key}.schema", f"{subject} needs its columns, e.g. 'id BIGINT, ...'")
        if spec.schema is not None:
            try:
                parse_schema(spec.schema)
            except ValueError as error:
                raise self.error(f"{key}.schema", str(error)) from error
        return spec

    def variable(self, name: str, value: Any) -> VariableValue:
        try:
            return check_variable(value)
        except ValueError as error:
            raise self.error(f"variables.{name}", str(error)) from error

    def profiles(self, tables: Mapping[str, Any]) -> dict[str, Profile]:
        """Merge the file's profiles with the presets; other profiles extend `default`."""
        profiles: dict[str, Profile] = {}
        for name in (*PRESETS, *(name for name in tables if name not in PRESETS)):
            base = PRESETS.get(name) or profiles["default"]
            try:
                profiles[name] = merge_profile(base, tables.get(name, {}))
            except msgspec.ValidationError as error:
                reason, _, path = str(error).partition(" - at `$")
                key = f"profiles.{name}{path.removesuffix('`')}"
                raise self.error(key, _reworded(reason)) from error
        return profiles


def _reworded(reason: str) -> str:
    return reason.replace("Object contains unknown field", "there is no key").replace(
        "Object missing required field", "the table lacks the key"
    )
