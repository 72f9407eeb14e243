"""Embedded runs: what runs, what is skipped, and what the tables hold afterwards."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from headrace import Table
from headrace.errors import (
    InvalidArgumentError,
    ReplayDiffersError,
    ResultMissingError,
    RunFailedError,
    RunInProgressError,
    RunNotFoundError,
)
from headrace.pipeline import Project, RunStatus, ViewStatus
from headrace.pipeline.execution.lock import run_lock
from headrace.pipeline.runs.artifact import PlanStage
from tests.pipeline.embedded import rows, run, statuses
from tests.pipeline.shop import append_orders, append_weather, compact_orders, edit, write_shop

ENGINE = "datafusion"
FAILING = "-- @materialise output\nSELECT name, id % 0 AS total FROM customers\n"


def add_view(root: Path, name: str, text: str) -> None:
    (root / "views" / f"{name}.sql").write_text(text)


def test_a_first_run_writes_every_output(shop: Path) -> None:
    record = run(shop)
    assert record.status is RunStatus.SUCCEEDED
    assert statuses(record) == {"forecast": "ran", "revenue": "ran", "top": "ran"}
    assert rows(shop, "forecast") == [{"day": 1, "warmest": 8}]


def test_a_second_run_skips_everything_and_names_the_valid_result(shop: Path) -> None:
    first = run(shop)
    second = run(shop)
    assert set(statuses(second).values()) == {"skipped"}
    assert first.id in second.views["top"].reason
    assert second.views["top"].digest == first.views["top"].digest


def test_after_an_append_only_views_that_read_the_new_file_run(shop: Path) -> None:
    run(shop)
    append_orders(shop, year=2024, count=5)
    record = run(shop)
    assert statuses(record) == {"forecast": "skipped", "revenue": "ran", "top": "ran"}
    assert [cause.kind.value for cause in record.views["revenue"].causes] == ["file"]
    assert [cause.kind.value for cause in record.views["top"].causes] == ["upstream"]


def test_a_change_of_an_inlined_view_is_named_by_its_readers(shop: Path) -> None:
    add_view(shop, "core", "SELECT name, points(id) AS points, id FROM customers WHERE id > 0")
    add_view(shop, "shell", "SELECT name, points FROM core WHERE id < 100")
    text = "-- @materialise output\nSELECT name, points(points) AS p FROM shell"
    add_view(shop, "reader", text)
    run(shop)
    assert [*map(str, Project.load(shop).why("reader").causes)] == []
    edit(shop / "views" / "core.sql", "id > 0", "id > 1")
    (change,) = Project.load(shop).why("reader").causes
    assert (change.kind, change.text) == ("token", "view core: `0` became `1` after `where id >`")
    edit(shop / "functions.py", "FACTOR = 3", "FACTOR = 4")
    texts = [*map(str, Project.load(shop).why("reader").causes)]
    assert texts == ["function points: its helper functions.py:FACTOR changed", change.text]


def test_after_an_append_to_an_unread_partition_nothing_runs(shop: Path) -> None:
    run(shop)
    append_orders(shop, year=2022, count=5)
    assert set(statuses(run(shop)).values()) == {"skipped"}


def test_after_a_compaction_nothing_runs(shop: Path) -> None:
    append_orders(shop, year=2024, count=5)
    run(shop)
    compact_orders(shop)
    assert set(statuses(run(shop)).values()) == {"skipped"}
    assert set(statuses(run(shop)).values()) == {"skipped"}


def test_a_table_changed_by_another_writer_is_rewritten(shop: Path) -> None:
    run(shop)
    DeltaTable(shop / "output" / "forecast").delete()
    record = run(shop)
    assert statuses(record)["forecast"] == "ran"
    assert "changed by another writer" in record.views["forecast"].reason
    assert len(rows(shop, "forecast")) == 1


def test_an_output_that_was_only_compacted_is_still_valid(shop: Path) -> None:
    add_view(
        shop,
        "log",
        "-- @materialise output\n-- @write append\n-- @append all\nSELECT * FROM weather\n",
    )
    run(shop)
    append_weather(shop, day=2)
    run(shop)
    DeltaTable(shop / "output" / "log").optimize.compact()
    assert statuses(run(shop))["log"] == "skipped"


def test_a_full_refresh_runs_everything(shop: Path) -> None:
    run(shop)
    assert set(statuses(run(shop, full_refresh=True)).values()) == {"ran"}


def test_a_view_that_fails_stops_only_those_that_read_it(shop: Path) -> None:
    add_view(shop, "revenue", FAILING)
    record = run(shop)
    assert statuses(record) == {"forecast": "ran", "revenue": "failed", "top": "blocked"}
    assert record.status is RunStatus.FAILED
    assert not (shop / "output" / "revenue" / "_delta_log").exists()
    with pytest.raises(RunFailedError, match="revenue"):
        record.check()


def test_an_impossible_cast_is_an_error_and_null_only_without_ansi(shop: Path) -> None:
    text = "-- @materialise output\nSELECT CAST(name AS INT) AS n, TRY_CAST(name AS INT) AS t "
    add_view(shop, "cast", f"{text} FROM customers WHERE name = 'Ada'\n")
    assert statuses(run(shop))["cast"] == "failed"
    edit(shop / "headrace.toml", "[settings]", "[settings]\nansi = false")
    assert statuses(run(shop))["cast"] == "ran"
    assert rows(shop, "cast") == [{"n": None, "t": None}]


def test_a_run_that_died_is_reported_as_interrupted(shop: Path) -> None:
    result = run(shop)
    project = Project.load(shop)
    died = msgspec.structs.replace(
        result, id="99999999-dead", status=RunStatus.RUNNING, finished_ms=None
    )
    project.store.add_run(died)
    assert {listed.status for listed in project.runs()} == {
        RunStatus.INTERRUPTED,
        RunStatus.SUCCEEDED,
    }
    assert project.show("99999999").status is RunStatus.INTERRUPTED
    with run_lock(shop / ".headrace", project="shop"):
        assert project.show("99999999").status is RunStatus.RUNNING


def test_failed_views_are_run_by_the_next_run(shop: Path) -> None:
    good = (shop / "views" / "revenue.sql").read_text()
    add_view(shop, "revenue", FAILING)
    run(shop)
    add_view(shop, "revenue", good)
    assert statuses(run(shop)) == {"forecast": "skipped", "revenue": "ran", "top": "ran"}


def test_a_selection_runs_only_the_named_views(shop: Path) -> None:
    record = run(shop, select=["+top"], exclude=["forecast"])
    assert statuses(record) == {"forecast": "left out", "revenue": "ran", "top": "ran"}


def test_a_view_cannot_run_over_one_that_has_no_result_and_is_not_selected(shop: Path) -> None:
    with pytest.raises(ResultMissingError, match=r"\+top"):
        run(shop, select=["top"])


def test_a_view_that_read_an_older_result_runs_again_once_that_is_recomputed(shop: Path) -> None:
    run(shop)
    append_orders(shop, year=2024, count=9)
    edit(shop / "views" / "top.sql", "> 100", "> 50")
    alone = run(shop, select=["top"])
    assert statuses(alone)["top"] == "ran"
    whole = run(shop)
    assert statuses(whole) == {"forecast": "skipped", "revenue": "ran", "top": "ran"}
    named = "view revenue no longer has the result that was read"
    assert whole.views["top"].reason == named
    assert whole.views["top"].upstream_keys == {"revenue": whole.views["revenue"].skip_key}
    (difference,) = (
        v for v in Project.load(shop).diff(alone.id, whole.id).views if v.view == "top"
    )
    assert [cause.text for cause in difference.causes] == [named]


def test_a_selection_that_matches_nothing_is_an_error(shop: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="--select"):
        run(shop, select=["nothing*"])


def test_a_variable_that_a_view_uses_makes_it_run_and_others_do_not(shop: Path) -> None:
    run(shop)
    assert set(statuses(run(shop, variables={"other": "x"})).values()) == {"skipped"}
    record = run(shop, variables={"least": "20"})
    assert statuses(record) == {"forecast": "skipped", "revenue": "ran", "top": "ran"}


def test_a_pin_reads_an_older_version(shop: Path) -> None:
    append_weather(shop, day=2)
    assert run(shop, pins={"weather": 0}).pins["weather"] == 0
    assert len(rows(shop, "forecast")) == 1


def test_views_in_memory_and_staging_are_computed_for_their_readers(shop: Path) -> None:
    for policy in ("memory", "staging"):
        add_view(shop, policy, f"-- @materialise {policy}\nSELECT day + 1 AS d FROM weather\n")
        add_view(shop, f"of_{policy}", f"-- @materialise output\nSELECT d FROM {policy}\n")
    record = run(shop)
    assert rows(shop, "of_memory") == rows(shop, "of_staging") == [{"d": 2}, {"d": 2}]
    digests = [record.views[name].digest for name in ("memory", "staging")]
    assert len({digest.rows_digest for digest in digests if digest}) == 1
    assert not (shop / ".headrace" / "staging").exists()
    assert set(statuses(run(shop)).values()) == {"skipped"}
    edit(shop / "views" / "of_memory.sql", "SELECT d", "SELECT d + 1 AS d")
    again = statuses(run(shop))
    assert (again["memory"], again["of_memory"]) == ("ran", "ran")
    assert (again["staging"], again["of_staging"]) == ("skipped", "skipped")


def test_rows_that_break_a_promise_are_not_written(shop: Path) -> None:
    text = (
        "-- @materialise output\n-- @contract (day BIGINT NOT NULL)\n"
        "SELECT CASE WHEN degrees > 5 THEN day END AS day FROM weather\n"
    )
    add_view(shop, "promise", text)
    record = run(shop)
    failure = record.views["promise"].failure
    assert failure is not None
    assert failure.code == "CONTRACT_VIOLATED"
    assert not list((shop / "output" / "promise").rglob("*.parquet"))


def test_the_table_has_the_promised_decimal_type(shop: Path) -> None:
    text = (
        "-- @materialise output\n-- @contract (mean DECIMAL(10,1))\n"
        "SELECT avg(amount) AS mean FROM orders\n"
    )
    add_view(shop, "mean", text)
    run(shop).check()
    schema = Table(shop / "output" / "mean").snapshot().schema
    assert schema.field("mean").type == pa.decimal128(10, 1)


def test_a_computed_decimal_is_rounded_to_the_promised_scale(shop: Path) -> None:
    text = (
        "-- @materialise output\n-- @contract (third DECIMAL(4,2), half DECIMAL(4,1))\n"
        "SELECT CAST(2 AS DECIMAL(3,1)) / 3 AS third, CAST(-0.25 AS DECIMAL(4,2)) AS half "
        "FROM orders LIMIT 1\n"
    )
    add_view(shop, "rounded", text)
    run(shop).check()
    rows = Table(shop / "output" / "rounded").snapshot().rows().read_all()
    assert rows.to_pylist() == [{"third": Decimal("0.67"), "half": Decimal("-0.3")}]


def test_a_computed_decimal_that_does_not_fit_fails_its_view(shop: Path) -> None:
    text = (
        "-- @materialise output\n-- @contract (n DECIMAL(4,2))\n"
        "SELECT CAST(99.996 AS DECIMAL(5,3)) AS n FROM orders LIMIT 1\n"
    )
    add_view(shop, "overflow", text)
    failure = run(shop).views["overflow"].failure
    assert failure is not None
    assert "99.996 does not fit" in failure.text
    assert not list((shop / "output" / "overflow").rglob("*.parquet"))


def test_two_runs_at_once_are_refused(shop: Path) -> None:
    with run_lock(shop / ".headrace", project="shop"), pytest.raises(RunInProgressError):
        run(shop)


def test_a_dry_run_writes_nothing(shop: Path) -> None:
    decided = Project.load(shop).decide(engine=ENGINE)
    assert {decision.action.value for decision in decided.values()} == {"run"}
    assert not (shop / "output").exists()


def test_the_store_keeps_runs_plans_and_environment(shop: Path) -> None:
    record = run(shop, analyse=True)
    project = Project.load(shop)
    shown = project.show(record.id[:12])
    assert shown == record
    assert shown.environment["datafusion"]
    plans = project.store.plans(shown, "forecast")
    assert set(plans) == set(PlanStage)
    assert "weather" in plans[PlanStage.PHYSICAL] or "Dataset" in plans[PlanStage.PHYSICAL]
    assert project.store.bundle(record.bundle).id == record.bundle


def test_an_unknown_run_is_an_error(shop: Path) -> None:
    with pytest.raises(RunNotFoundError):
        Project.load(shop).show("nothing")


def test_a_diff_of_runs_shows_versions_code_and_results(shop: Path) -> None:
    first = run(shop)
    append_orders(shop, year=2024, count=5)
    second = run(shop)
    difference = Project.load(shop).diff(first.id, second.id)
    assert difference.facts == {"version of orders": ("1", "2")}
    by_view = {view.view: view for view in difference.views}
    assert by_view["forecast"].sameness.value == "same"
    assert by_view["revenue"].sameness.value == "other rows"
    assert [cause.kind.value for cause in by_view["revenue"].causes] == ["file"]


def test_why_names_the_token_that_changed(shop: Path) -> None:
    run(shop)
    edit(shop / "views" / "top.sql", "> 100", "> 120")
    decision = Project.load(shop).why("top")
    assert decision.action.value == "run"
    assert decision.reason == "`100` became `120` after `where total >`"


def test_an_optional_source_that_is_missing_is_empty(shop: Path) -> None:
    edit(
        shop / "headrace.toml",
        "[settings]",
        '[sources.later]\nuri = "lake/later"\noptional = true\nschema = "a BIGINT"\n\n[settings]',
    )
    add_view(shop, "empty", "-- @materialise output\nSELECT a FROM later\n")
    run(shop).check()
    assert rows(shop, "empty") == []
    write_deltalake(shop / "lake" / "later", pa.table({"a": [1]}))
    assert statuses(run(shop))["empty"] == "ran"
    assert rows(shop, "empty") == [{"a": 1}]


def test_a_view_without_its_own_table_is_computed_by_its_readers(shop: Path) -> None:
    add_view(shop, "warm", "SELECT * FROM weather WHERE degrees > 5\n")
    add_view(shop, "days", "-- @materialise output\nSELECT day FROM warm\n")
    record = run(shop)
    assert record.views["warm"].status is ViewStatus.INLINED
    assert rows(shop, "days") == [{"day": 1}]


def test_rows_are_written_in_the_order_that_a_contract_promises(tmp_path: Path) -> None:
    root = write_shop(tmp_path)
    (root / "views" / "sorted.sql").write_text(
        "-- @materialise output\n-- @partition_by year\n"
        "-- @contract (id BIGINT COMMENT 'the order', amount DECIMAL(12,2), year INT)\n"
        "-- @order_by amount\n-- @metadata owner = finance\n"
        "SELECT id, amount, year FROM orders\n"
    )
    Project.load(root).run(engine="datafusion", select=["sorted"]).check()
    table = root / "output" / "sorted"
    for file in table.rglob("*.parquet"):
        amounts = pq.read_table(file, partitioning=None)["amount"].to_pylist()
        assert amounts == sorted(amounts)
    metadata = DeltaTable(table).metadata()
    assert metadata.configuration["owner"] == "finance"
    assert metadata.configuration["headrace.orderedBy"] == "amount"
    assert DeltaTable(table).schema().fields[0].metadata["comment"] == "the order"


@pytest.mark.parametrize("write", ["overwrite", "merge\n-- @keys a"])
def test_the_last_moment_of_the_calendar_can_be_written(tmp_path: Path, write: str) -> None:
    root = write_shop(tmp_path)
    (root / "views" / "last.sql").write_text(
        f"-- @materialise output\n-- @write {write}\n"
        "SELECT TIMESTAMP_NTZ '9999-12-31 23:59:59.999999' AS a\n"
    )
    Project.load(root).run(engine="datafusion", select=["last"]).check()
    assert rows(root, "last") == [{"a": datetime(9999, 12, 31, 23, 59, 59, 999999)}]  # noqa: DTZ001


def test_verifying_detects_an_unsound_skip(tmp_path: Path) -> None:
    root = write_shop(tmp_path)
    project = Project.load(root)
    ran = project.run(engine="datafusion")
    assert project.verify(sample=2).count(ViewStatus.RAN) == 2  # on the runner of the results
    index = root / ".headrace" / "results.json"
    digest = ran.views["revenue"].digest
    assert digest is not None
    index.write_text(index.read_text().replace(digest.rows_digest, "0" * len(digest.rows_digest)))
    record = project.verify(engine="datafusion")
    assert record.views["revenue"].status is ViewStatus.FAILED
    assert record.views["forecast"].status is ViewStatus.RAN
    with pytest.raises(ReplayDiffersError, match="revenue"):
        record.check()
    assert Project.load(root).run(engine="datafusion").count(ViewStatus.SKIPPED) == 3
