"""The benchmarks work: their lakes are what they claim, and a case runs end to end."""

import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from xml.dom import minidom

import numpy as np
import pyarrow as pa
import pytest

import headrace
from benchmarks.cases import CASES, DUCKDB, Case, Water, case_named, question_of
from benchmarks.check import WrongAnswerError, check_answer
from benchmarks.checkpoint import VERSION
from benchmarks.lake import Lake, open_lake
from benchmarks.measurement import WorkerFailedError, rehearse
from benchmarks.parameter import Checksum, Layout, Order, Parameters, Values
from benchmarks.target import TARGETS, Measure
from benchmarks.truth import Tally
from benchmarks.worker import AUDIT, check, prepare
from tests.oracle import Action, live_files

SMALL = Parameters(
    files=2000, commits=6, adds=60, removes=50, readds=2, parts=3, row_group_rows=500
)


def _name(value: Case | str) -> str:
    return value if isinstance(value, str) else value.name


def lake_of(folder: Path, layout: Layout, order: Order, values: Values) -> Lake:
    return open_lake(replace(SMALL, layout=layout, order=order, values=values), below=folder)


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return open_lake(SMALL, below=tmp_path_factory.mktemp("lakes"))


def replayed(lake: Lake) -> list[Action]:
    return list(live_files(lake.table, VERSION + SMALL.commits).values())


def tally_of(paths: list[str], sizes: list[int]) -> Tally:
    tally = Tally()
    tally.add(pa.array(paths, pa.string()), np.array(sizes, np.int64))
    return tally


@pytest.mark.parametrize("values", Values)
@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("layout", Layout)
def test_the_truth_of_a_lake_is_what_the_oracle_and_headrace_find(
    tmp_path: Path, layout: Layout, order: Order, values: Values
) -> None:
    lake = lake_of(tmp_path, layout, order, values)
    adds, truth = replayed(lake), lake.truth
    least = [json.loads(add["stats"])["minValues"]["id"] for add in adds]
    assert tally_of([a["path"] for a in adds], [a["size"] for a in adds]) == truth.live
    assert sum(minimum < truth.below for minimum in least) == truth.matching

    snapshot = headrace.Table(lake.table).snapshot()
    files = list(snapshot.scan())
    assert tally_of([f.path for f in files], [f.size_bytes for f in files]) == truth.live
    assert snapshot.scan(where=f"id < {truth.below}").count() == truth.matching


def test_the_truth_has_every_requested_partition(lake: Lake) -> None:
    snapshot = headrace.Table(lake.table).snapshot()
    for partition in lake.truth.partitions:
        where = f"date = '{partition.date}' AND region = '{partition.region}'"
        files = list(snapshot.scan(where=where))
        assert partition.tally.count > 0
        assert tally_of([f.path for f in files], [f.size_bytes for f in files]) == partition.tally


def test_a_lake_with_a_checksum_is_the_same_lake(tmp_path: Path) -> None:
    plain = open_lake(SMALL, below=tmp_path)
    summed = open_lake(replace(SMALL, checksum=Checksum.NEWEST), below=tmp_path)
    assert summed.truth.live == plain.truth.live
    assert headrace.Table(summed.table).snapshot().table_version.checksum is not None


def test_a_lake_is_created_once(tmp_path: Path) -> None:
    lake = open_lake(SMALL, below=tmp_path)
    before = {path: path.stat().st_mtime_ns for path in lake.table.rglob("*")}
    again = open_lake(SMALL, below=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in again.table.rglob("*")} == before


def test_wrong_paths_are_detected(lake: Lake) -> None:
    question = question_of(case_named("first"), table=str(lake.table), truth=lake.truth)
    live = replayed(lake)[0]["path"]
    lines = (lake.table / "_delta_log" / f"{VERSION + SMALL.commits:020d}.json").read_text()
    removed = next(a["remove"]["path"] for a in map(json.loads, lines.split("\n")) if "remove" in a)
    check_answer([live], question, lake.truth)
    for wrong in ([], [live, live], [removed], [live.replace("/part-", "/part_")], ["else"]):
        with pytest.raises(WrongAnswerError):
            check_answer(wrong, question, lake.truth)


def test_the_peer_of_every_target_takes_part_in_its_case() -> None:
    for target in TARGETS:
        peer_case = case_named(target.other_case or target.case)
        assert target.peer is None or target.peer in peer_case.contestants
        assert target.measure in Measure


@pytest.mark.parametrize(
    ("case", "contestant"),
    [(c, who) for c in CASES if c.water is Water.PLAIN for who in c.contestants],
    ids=_name,
)
def test_every_contestant_returns_a_correct_answer(lake: Lake, case: Case, contestant: str) -> None:
    if contestant == DUCKDB:
        pytest.importorskip("duckdb", reason="duckdb is not installed: pip install '.[bench]'")
    question = question_of(case, table=str(lake.table), truth=lake.truth)
    answering = import_module(f"benchmarks.contestants.{contestant}").Contestant(question)
    check(answering, prepare(answering, question, mode=AUDIT)(), question)


def test_a_wrong_answer_ends_the_run(tmp_path: Path, lake: Lake) -> None:
    question = question_of(case_named("count"), table=str(lake.table), truth=lake.truth)
    newest = lake.table / "_delta_log" / f"{VERSION + SMALL.commits:020d}.json"
    original = newest.read_text(encoding="utf-8")
    newest.write_text(original.partition("\n")[0] + "\n", encoding="utf-8")
    try:
        with pytest.raises(WorkerFailedError, match="is right"):
            rehearse("headrace_scan", question, folder=tmp_path)
    finally:
        newest.write_text(original, encoding="utf-8")


def test_a_case_runs_end_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for library in ("duckdb", "psutil"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install '.[bench]'")
    monkeypatch.setenv("HEADRACE_BENCH_DIR", str(tmp_path / "lakes"))
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- benchmark:start -->\nold\n<!-- benchmark:end -->\nafter\n")
    arguments = ["--files", "10000", "--repeats", "1", "--case", "count", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["run", *arguments])
    import_module("benchmarks.run").main()
    printed = capsys.readouterr().out
    assert "| count | DuckDB SQL |" in printed
    assert re.search(
        r"Distance to the floor.*\n\| count(?: \| [0-9.,]+){5} \|\n", printed, re.DOTALL
    )

    monkeypatch.setattr("sys.argv", ["plot", "--results", str(tmp_path), "--readme", str(readme)])
    import_module("benchmarks.plot").main()
    assert "old" not in readme.read_text()
    assert re.fullmatch(r"before\n<!--.*\| count \|.*-->\nafter\n", readme.read_text(), re.DOTALL)
    assert minidom.parse(str(tmp_path / "benchmark.svg")).getElementsByTagName("rect")
