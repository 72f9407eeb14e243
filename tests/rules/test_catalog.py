"""Rule 14: only a catalog knows which staged commits count."""

from pathlib import Path

import pytest

import headrace
from headrace.errors import CatalogManagedError, LogGapError
from tests import oracle
from tests.lake.action import Line, add, metadata, protocol, remove
from tests.lake.log import log_of, write_commit, write_lines
from tests.listing import by_key

OPENING: list[Line] = [protocol(features=["catalogManaged"]), metadata(), add("0")]
STAGED = {
    "one": (1, [add("1")]),
    "two": (2, [add("2"), remove("0")]),
    "rival": (2, [add("rival")]),
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_commit(tmp_path, 0, OPENING)
    for name, (_, lines) in STAGED.items():
        write_lines(log_of(tmp_path) / _staged(name), lines)
    return tmp_path


def _staged(name: str) -> str:
    version, _ = STAGED[name]
    suffix = {"one": "1", "two": "2", "rival": "3"}[name] * 12
    return f"_staged_commits/{version:020}.4cb9708e-b478-44de-b203-{suffix}.json"


def _paths(table: Path, *names: str) -> list[str]:
    tail = [_staged(name) for name in names]
    return sorted(file.path for file in headrace.Table(str(table)).snapshot(log_tail=tail).scan())


def test_rule_14_without_a_tail_the_table_is_refused(table: Path) -> None:
    with pytest.raises(CatalogManagedError):
        headrace.Table(str(table)).snapshot()


def test_rule_14_an_empty_tail_returns_the_published_version(table: Path) -> None:
    assert _paths(table) == ["0"]


def test_rule_14_only_the_ratified_commits_count(table: Path) -> None:
    assert _paths(table, "one") == ["0", "1"]
    assert _paths(table, "one", "two") == ["1", "2"]
    assert _paths(table, "one", "rival") == ["0", "1", "rival"]


def test_rule_14_the_order_of_the_tail_does_not_matter(table: Path) -> None:
    assert _paths(table, "two", "one") == ["1", "2"]


def test_rule_14_a_tail_with_a_gap_is_refused(table: Path) -> None:
    with pytest.raises(LogGapError) as caught:
        _paths(table, "two")
    assert caught.value.missing == (range(1, 2),)


def test_rule_14_the_tail_wins_over_a_published_commit(table: Path) -> None:
    write_commit(table, 1, [add("published")])
    assert _paths(table, "one", "two") == ["1", "2"]


def test_rule_14_refresh_reads_the_current_tail(table: Path) -> None:
    snapshot = headrace.Table(str(table)).snapshot(log_tail=[_staged("one")])
    newer = snapshot.refresh(log_tail=[_staged("one"), _staged("two")])
    assert (snapshot.version, newer.version) == (1, 2)
    assert sorted(file.path for file in newer.scan()) == ["1", "2"]


def test_rule_14_staged_commits_of_an_ordinary_table_are_ignored(table: Path) -> None:
    write_commit(table, 0, [protocol(), metadata(), add("0")])
    assert [file.path for file in headrace.Table(str(table)).snapshot().scan()] == ["0"]


@pytest.mark.parametrize(
    "name",
    [
        "delta-kernel-rs/unity_catalog_data/catalog_managed_0",
        "delta/kernel_defaults/catalog-owned-preview",
    ],
)
def test_rule_14_real_tables_open_with_their_staged_commits(
    fixture_tables: Path, name: str
) -> None:
    table = fixture_tables / name
    log = table / "_delta_log"
    tail = sorted(str(path.relative_to(log)) for path in log.glob("_staged_commits/*.json"))
    snapshot = headrace.Table(str(table)).snapshot(log_tail=tail)
    assert snapshot.version == 2
    assert by_key(snapshot.scan()).keys() == oracle.replay(table, 2, tail=tail).live.keys()
