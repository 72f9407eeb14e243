"""Tables in a remote store, from the command line."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.command import headrace
from tests.emulator.place import SECRET_KEY, Place


@pytest.fixture(scope="module")
def table(s3: Place, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cli") / "events"
    write_deltalake(folder, pa.table({"n": [1, 2, 3]}))
    write_deltalake(folder, pa.table({"n": [4]}), mode="append")
    return s3.upload(Path(folder), "cli/events")


def words(place: Place) -> list[str]:
    return [w for k, v in place.options.items() for w in ("--storage-option", f"{k}={v}")]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("count",), "4"),
        (("rows", "--where", "n > 3", "-f", "jsonl"), '{"n":4}'),
        (("files", "--limit", "1", "-f", "jsonl"), ".parquet"),
        (("history", "--json"), "WRITE"),
        (("snapshot",), "1"),
        (("schema",), "n"),
        (("changes", "--since", "1", "--rows", "-f", "jsonl"), "insert"),
        (("explain",), "_delta_log"),
    ],
)
def test_every_command_opens_a_table_in_a_store(
    command: tuple[str, ...], expected: str, table: str, s3: Place
) -> None:
    result = headrace(command[0], table, *command[1:], *words(s3))
    assert result.returncode == 0, result.stderr
    assert expected in result.stdout.replace(" ", "")
    assert SECRET_KEY not in result.stdout + result.stderr


def test_options_are_read_from_the_environment_too(table: str, s3: Place) -> None:
    result = headrace(
        "count",
        table,
        AWS_ENDPOINT_URL=s3.options["endpoint_url"],
        AWS_ACCESS_KEY_ID=s3.options["aws_access_key_id"],
        AWS_SECRET_ACCESS_KEY=SECRET_KEY,
        AWS_REGION="us-east-1",
    )
    assert (result.returncode, result.stdout.strip()) == (0, "4"), result.stderr


@pytest.mark.parametrize("word", [f"secret_acces_key={SECRET_KEY}", SECRET_KEY])
def test_a_wrong_option_is_an_error_that_does_not_repeat_its_value(word: str, table: str) -> None:
    result = headrace("count", table, "--storage-option", word)
    assert result.returncode != 0
    assert "NAME=VALUE" in result.stderr or "secret_access_key" in result.stderr
    assert SECRET_KEY not in result.stdout + result.stderr
