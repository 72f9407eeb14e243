import pytest

from headrace.log.name import (
    CheckpointKind,
    CheckpointName,
    ChecksumName,
    CommitName,
    CompactionName,
    LogName,
    parse_name,
    staged_version,
)

SEVEN = "00000000000000000007"
UUID = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5"


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        (f"{SEVEN}.json", CommitName(7)),
        (f"{SEVEN}.crc", ChecksumName(7)),
        (f"{SEVEN}.checkpoint.parquet", CheckpointName(7, CheckpointKind.CLASSIC)),
        (
            f"{SEVEN}.checkpoint.0000000002.0000000003.parquet",
            CheckpointName(7, CheckpointKind.MULTI_PART, 2, 3),
        ),
        (f"{SEVEN}.checkpoint.{UUID}.json", CheckpointName(7, CheckpointKind.V2_JSON)),
        (f"{SEVEN}.checkpoint.{UUID}.parquet", CheckpointName(7, CheckpointKind.V2_PARQUET)),
        (f"{SEVEN}.00000000000000000009.compacted.json", CompactionName(7, 9)),
        ("_last_checkpoint", None),
        (f"{SEVEN}.json.tmp", None),
        (f".{SEVEN}.json.crc", None),
        ("7.json", None),
        ("9" * 20 + ".json", None),
        (f"{SEVEN}.{UUID}.json", None),
        (f"0{SEVEN}.json", None),
        ("\u0660" * 20 + ".json", None),
    ],
)
def test_a_name_means_one_thing_or_nothing(name: str, meaning: LogName | None) -> None:
    assert parse_name(name) == meaning


def test_the_version_of_a_staged_commit_is_in_its_name() -> None:
    assert staged_version(f"_staged_commits/{SEVEN}.{UUID}.json") == 7
    assert staged_version(f"{SEVEN}.json") == 7
    assert staged_version("something.json") is None
