"""The settings: the names and defaults of IndexTables, our own names, and refused values."""

import re

import pytest

from headrace.errors import InvalidArgumentError
from headrace.maintain.setting import (
    PREFIX,
    SPARK_NAMES,
    Compression,
    StateFormat,
    StateSettings,
    parse_settings,
    session_settings,
)

DEFAULTS = {
    "format": StateFormat.AVRO,
    "compression": Compression.ZSTD,
    "compressionLevel": 3,
    "entriesPerManifest": 50_000,
    "compaction.tombstoneThreshold": 0.10,
    "compaction.maxManifests": 20,
    "compaction.largeRemoveThreshold": 2_147_483_647,
    "compaction.afterMerge": True,
    "read.parallelism": 8,
    "retention.versions": 2,
    "retention.hours": 168,
    "gc.minManifestAgeHours": 1,
}


def test_the_twelve_settings_have_the_defaults_of_indextables() -> None:
    settings = StateSettings()
    assert {name: getattr(settings, SPARK_NAMES[name]) for name in DEFAULTS} == DEFAULTS


def test_every_setting_has_a_name_for_spark() -> None:
    assert set(SPARK_NAMES.values()) == set(StateSettings.__struct_fields__)


def test_both_names_of_a_setting_match_in_any_case() -> None:
    by_spark = parse_settings({f"{PREFIX}Compaction.MaxManifests": "7", f"{PREFIX}format": "JSON"})
    assert by_spark == parse_settings({"max_manifests": 7, "FORMAT": "json"})
    assert (by_spark.max_manifests, by_spark.format) == (7, StateFormat.JSON)


def test_only_the_state_settings_of_a_session_are_read() -> None:
    settings = session_settings({f"{PREFIX}retention.hours": "1.5", "spark.app.name": "x"})
    assert settings == StateSettings(retention_hours=1.5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("compression_level", "0"),
        ("compression_level", "23"),
        ("compression", "brotli"),
        ("format", "orc"),
        ("entries_per_manifest", "0"),
        ("entries_per_manifest", "many"),
        ("compact_after_merge", "perhaps"),
        ("no_such_setting", "1"),
        (f"{PREFIX}no.such", "1"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_settings({name: value})
    assert caught.value.argument == name


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        (f"{PREFIX}retention.hour", f"{PREFIX}retention.hours"),
        (f"{PREFIX}Compaction.tombstoneTreshold", f"{PREFIX}compaction.tombstoneThreshold"),
        ("retention_hour", "retention_hours"),
        ("Max_Manifest", "max_manifests"),
    ],
)
def test_a_misspelt_setting_is_refused_with_the_nearest_name(name: str, nearest: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"did you mean {re.escape(nearest)}\\?"):
        session_settings({name: "1"}) if name.startswith(PREFIX) else parse_settings({name: "1"})


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_a_name_like_no_setting_is_refused_with_all_names(prefix: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"there are {re.escape(prefix)}format, "):
        parse_settings({f"{prefix}xyz": "1"})


def test_a_setting_given_by_both_names_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="twice"):
        parse_settings({"max_manifests": 1, f"{PREFIX}compaction.maxManifests": 2})
