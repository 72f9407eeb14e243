"""Simple calls are parsed as Typer parses them, and all others are left to Typer."""

import functools
import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cli.commands import PANELS, load_command
from headrace.cli.main import app
from headrace.cli.quick import parse_words
from tests.effort import examples

NAMES = [name for names in PANELS.values() for name in names]
VALUES = st.sampled_from(
    ["t", "a b", "3", "03", "-3", "1.5", "", "jsonl", "JSONL", "table", "x=1", "-f", "--limit", "ü"]
)


def command_of(name: str) -> Callable[..., None]:
    command = load_command(name)
    assert command is not None
    return command


def by_typer(command: Callable[..., None], words: list[str]) -> dict[str, Any] | None:
    """Return Typer's interpretation of the words, or None if it refuses them."""
    parsed: dict[str, Any] = {}

    @functools.wraps(command)
    def take(**arguments: Any) -> None:
        parsed.update(arguments)

    alone = typer.Typer(add_completion=False)
    alone.command()(take)
    try:
        typer.main.get_command(alone).main(args=words, standalone_mode=False)
    except Exception:  # noqa: BLE001  (whatever it says, it refuses)
        return None
    return parsed or None


def options_of(command: Callable[..., None]) -> list[str]:
    alone = typer.Typer(add_completion=False)
    alone.command()(command)
    parsed: Any = typer.main.get_command(alone)
    return [spelling for p in parsed.params for spelling in (*p.opts, *p.secondary_opts)]


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_plain_arguments_are_parsed_as_by_typer(data: st.DataObject) -> None:
    command = command_of(data.draw(st.sampled_from(NAMES)))
    options = (spelling for spelling in options_of(command) if spelling.startswith("-"))
    spelled = st.sampled_from(["--nope", *options])
    pairs = data.draw(st.lists(st.tuples(spelled, VALUES) | st.tuples(VALUES) | st.tuples(spelled)))
    words = [word for pair in pairs for word in pair]
    quick = parse_words(command, words)
    if quick is not None:
        parameters = inspect.signature(command).parameters
        missing = {name: p.default for name, p in parameters.items() if name not in quick}
        assert quick | missing == by_typer(command, words)


@pytest.mark.parametrize(
    "words",
    [
        ["t"],
        ["t", "--limit", "100"],
        ["t", "-n", "3", "--where", "id = 1", "-o", "strategy=forward", "-o", "batch_rows=5"],
        ["--format", "jsonl", "t", "--version", "2", "--count"],
    ],
)
def test_everyday_calls_are_plain(words: list[str]) -> None:
    assert parse_words(command_of("files"), words) is not None


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["t", "u"],
        ["t", "--", "u"],
        ["t", "--nope", "1"],
        ["t", "--limit"],
        ["t", "--limit", "x"],
        ["t", "--limit", "-1"],
        ["t", "--limit=3"],
        ["t", "-f", "xml"],
    ],
)
def test_other_arguments_are_left_to_typer(words: list[str]) -> None:
    assert parse_words(command_of("files"), words) is None


def test_an_unknown_command_is_not_loaded() -> None:
    assert load_command("nope") is None


def test_a_plain_call_loads_neither_pydantic_nor_rich() -> None:
    script = (
        "import sys; sys.argv = ['headrace', 'files', '/nonexistent', '--count']\n"
        "from headrace.cli.main import parse_words, load_command\n"
        "assert parse_words(load_command('files'), sys.argv[2:])\n"
        "print(sorted({'pydantic', 'rich', 'pyarrow'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert result.stdout.strip() == b"[]"


def test_both_parsers_have_the_same_commands() -> None:
    group: Any = typer.main.get_command(app)
    assert list(group.commands) == NAMES
