"""Rule 3, and how a careful reader handles a malformed commit."""

import json
from pathlib import Path

import pytest

from headrace.errors import CorruptLogError, SnapshotExpiredError, UnsafePathError
from tests.lake.action import add, opening
from tests.lake.log import commit_path, write_commit, write_history, write_lines
from tests.listing import open_snapshot, paths_of

ADD = json.dumps(add("b")).encode()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table whose version 1 is left to the test."""
    return write_history(tmp_path, [[*opening(), add("a")]])


def _raw(table: Path, content: bytes) -> Path:
    path = commit_path(table, 1)
    path.write_bytes(content)
    return path


def _with_size(literal: bytes) -> bytes:
    return ADD.replace(b'"size": 1', b'"size": ' + literal)


def test_rule_03_unknown_actions_and_fields_are_ignored(table: Path) -> None:
    known = add("b")
    known["add"]["fromTheFuture"] = {"deep": [1, {"er": None}]}
    write_commit(table, 1, [{"brandNew": {"path": "c"}}, known, {"cdc": {"path": "d", "size": 1}}])
    assert paths_of(table) == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"\n\n" + ADD + b"\n\n \n", ADD, b"\r\n" + ADD + b"\r\n", b"{}\n" + ADD],
    ids=["empty", "newline", "blank lines", "no last newline", "CRLF", "empty object"],
)
def test_rule_03_empty_commits_and_blank_lines_are_legal(table: Path, content: bytes) -> None:
    _raw(table, content)
    snapshot = open_snapshot(table)
    assert snapshot.version == 1
    assert len(list(snapshot.scan())) == 1 + content.count(b'"add"')


@pytest.mark.parametrize("content", [ADD, b"", b"\n" + ADD])
def test_rule_03_a_byte_order_mark_is_accepted(table: Path, content: bytes) -> None:
    _raw(table, b"\xef\xbb\xbf" + content)
    assert len(paths_of(table)) == 1 + content.count(b'"add"')


def test_rule_03_a_null_action_is_ignored(table: Path) -> None:
    _raw(table, b'{"add": null, "remove": {"path": "a", "dataChange": true}}\n')
    assert paths_of(table) == []


@pytest.mark.parametrize("info", [None, {"timestamp": 5}])
def test_rule_03_other_keys_do_not_hide_a_protocol(
    table: Path, info: dict[str, int] | None
) -> None:
    [protocol, metadata] = opening()
    write_lines(
        commit_path(table, 0), [{"add": None, **protocol}, {"commitInfo": info, **metadata}]
    )
    assert open_snapshot(table).schema.names == ["id", "part", "n"]


def test_a_truncated_last_line_is_named(table: Path) -> None:
    path = _raw(table, ADD + b"\n" + ADD.replace(b'"b"', b'"c"')[:-9])
    with pytest.raises(CorruptLogError) as caught:
        paths_of(table)
    assert caught.value.path.endswith(path.name)
    assert caught.value.line == 2


def test_line_numbers_are_those_of_an_editor(table: Path) -> None:
    _raw(table, b"\n\n" + ADD + b"\n{\n")
    with pytest.raises(CorruptLogError) as caught:
        paths_of(table)
    assert caught.value.line == 4


@pytest.mark.parametrize(
    "content",
    [
        ADD.decode().encode("utf-16"),
        ADD.replace(b'"b"', b'"\xff"'),
        ADD.replace(b'"b"', b'"\\ud800"'),
        _with_size(b"true"),
        _with_size(b'"1"'),
        _with_size(b"NaN"),
        _with_size(b"1e400"),
        _with_size(b"1.5"),
        _with_size(b"9" * 5000),
        _with_size(b"%d" % (1 << 63)),
        ADD.replace(b'"path"', b'"route"'),
        b'{"add": []}',
        b'{"add": 1}',
        b"[]",
        b"7",
        b"null",
        b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        ADD + ADD,
        b"\0",
    ],
    ids=[
        "UTF-16",
        "invalid UTF-8",
        "lone surrogate",
        "size true",
        "size text",
        "size NaN",
        "size 1e400",
        "size 1.5",
        "size of 5000 digits",
        "size of 64 bits",
        "no path",
        "add is a list",
        "add is a number",
        "a list",
        "a number",
        "null",
        "deep nesting",
        "two objects on a line",
        "a zero byte",
    ],
)
def test_a_commit_that_is_not_json_of_the_protocol_is_corrupt(table: Path, content: bytes) -> None:
    path = _raw(table, content + b"\n")
    with pytest.raises(CorruptLogError) as caught:
        paths_of(table)
    assert caught.value.path.endswith(path.name)


def test_damage_above_the_requested_version_does_not_matter(table: Path) -> None:
    _raw(table, b"{")
    assert paths_of(table, 0) == ["a"]


def test_a_log_that_is_cleaned_after_the_snapshot_has_expired_it(table: Path) -> None:
    snapshot = open_snapshot(table)
    commit_path(table, 0).unlink()
    with pytest.raises(SnapshotExpiredError):
        list(snapshot.scan())


@pytest.mark.parametrize("path", ["../b", "x/../../b", "%2E%2E/b", "a%00b", "a%0Ab"])
def test_a_path_that_leads_outside_is_listed_but_not_opened(table: Path, path: str) -> None:
    write_commit(table, 1, [add(path)])
    [file] = [file for file in open_snapshot(table).scan() if file.path == path]
    with pytest.raises(UnsafePathError):
        _ = file.uri
