"""Careless requests, and interference by others: nothing is lost, and everything is reported."""

import resource
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from headrace import Table
from headrace.errors import (
    InvalidArgumentError,
    InvalidProjectError,
    InvalidResultError,
    InvalidViewError,
    RunFailedError,
    RunNotFoundError,
    ViewRefusedError,
)
from headrace.pipeline import Bundle, Project
from headrace.pipeline.execution.decision import Decider
from headrace.pipeline.execution.last_result import LastResults
from headrace.pipeline.output.staged import parquet_files
from headrace.pipeline.place import Place
from headrace.pipeline.runners.datafusion.file import write_rows
from headrace.storage.local import LocalStore
from tests.pipeline.embedded import rows, run, statuses
from tests.pipeline.shop import append_weather, edit, write_shop


def test_the_newest_result_counts_whatever_the_run_ids_are(shop: Path) -> None:
    run(shop, run_id="z-first")
    append_weather(shop, day=2)
    run(shop, run_id="a-second")
    assert statuses(run(shop)) == dict.fromkeys(("forecast", "revenue", "top"), "skipped")


@pytest.mark.parametrize("odd", ["../../x", "a'b", "", "a/b"])
def test_an_invalid_run_id_is_refused(shop: Path, odd: str) -> None:
    with pytest.raises(InvalidArgumentError, match="run_id"):
        run(shop, run_id=odd)


def test_a_retry_under_the_same_run_id_appends_nothing_twice(shop: Path) -> None:
    """Also if a view must always run, and its run died before it was recorded."""
    header = "-- @materialise output\n-- @write append\n-- @append all\n"
    text = f"{header}SELECT day, random() AS r FROM weather\n"
    (shop / "views" / "dice.sql").write_text(text)
    run(shop, run_id="nightly-7")
    shutil.rmtree(shop / ".headrace")
    again = run(shop, run_id="nightly-7")
    assert statuses(again)["dice"] == "skipped"
    assert "nightly-7" in again.views["dice"].reason
    assert statuses(run(shop, run_id="nightly-8"))["dice"] == "ran"


@pytest.mark.parametrize("query", ["SELECT count(*) AS n FROM weather", "SELECT random() AS n"])
def test_a_run_id_that_is_used_again_hides_no_change(shop: Path, query: str) -> None:
    view = shop / "views" / "forecast.sql"
    view.write_text(f"-- @materialise output\n{query}\n")
    run(shop, run_id="nightly", select=["forecast"]).check()
    view.write_text(f"-- @materialise output\n{query.replace(' AS', ' + 7 AS')}\n")
    run(shop, run_id="nightly", select=["forecast"]).check()
    assert rows(shop, "forecast")[0]["n"] >= 7
    append_weather(shop, day=2)
    again = run(shop, run_id="nightly", select=["forecast"])
    assert statuses(again)["forecast"] == ("ran" if "count" in query else "skipped")


def test_a_table_that_no_run_has_written_is_not_overwritten(shop: Path) -> None:
    write_deltalake(shop / "output" / "forecast", pa.table({"precious": [1]}))
    record = run(shop)
    assert statuses(record) == {"forecast": "failed", "revenue": "ran", "top": "ran"}
    failure = record.views["forecast"].failure
    assert failure is not None
    assert failure.code == InvalidResultError.code
    assert Table(shop / "output" / "forecast").snapshot().version == 0
    assert statuses(run(shop, full_refresh=True))["forecast"] == "ran"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- @write merge\n-- @keys nope\nSELECT day FROM weather", "@keys names nope"),
        ("-- @partition_by nope\nSELECT day FROM weather", "@partition_by names nope"),
        ("SELECT day, NULL AS n FROM weather", "column n is NULL and has no type"),
    ],
)
def test_an_impossible_table_layout_is_refused_before_the_view_is_computed(
    shop: Path, text: str, message: str
) -> None:
    (shop / "views" / "odd.sql").write_text(f"-- @materialise output\n{text}\n")
    with pytest.raises((InvalidViewError, ViewRefusedError), match=message):
        run(shop)
    assert not (shop / "output" / "odd").exists()


def test_keys_and_partitions_are_found_in_any_case(shop: Path) -> None:
    text = "-- @materialise output\n-- @write merge\n-- @keys DAY\n-- @partition_by Day\n"
    query = "SELECT day, max(degrees) AS warmest FROM weather GROUP BY day\n"
    (shop / "views" / "odd.sql").write_text(text + query)
    run(shop).check()
    append_weather(shop, day=2)
    run(shop).check()
    assert Table(shop / "output" / "odd").snapshot().rows().read_all().num_rows == 2


def test_a_partition_may_have_the_name_of_a_data_file(shop: Path) -> None:
    text = "-- @materialise output\n-- @partition_by name\n"
    query = "SELECT day, concat('a/%2F.', 'parquet') AS name FROM weather\n"
    (shop / "views" / "odd.sql").write_text(text + query)
    run(shop).check()
    rows = Table(shop / "output" / "odd").snapshot().rows().read_all().to_pylist()
    assert {row["name"] for row in rows} == {"a/%2F.parquet"}


def test_rows_may_have_more_partitions_than_a_process_may_open_files(tmp_path: Path) -> None:
    rows = pa.table({"n": pa.array(range(1100)), "v": pa.array(range(1100))})
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    try:
        write_rows(tmp_path / "rows", rows.schema, rows.to_batches(), partition_by=["n"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(parquet_files(LocalStore(str(tmp_path)), "rows")) == 1100


def test_a_source_at_the_address_of_an_output_is_not_overwritten_even_by_a_full_refresh(
    shop: Path,
) -> None:
    edit(shop / "headrace.toml", 'name = "shop"', 'name = "shop"\noutputs = "lake"')
    edit(shop / "headrace.toml", "[sources.weather]", "[sources.measured]")
    for file in (shop / "views").iterdir():
        file.unlink()
    text = "-- @materialise output\nSELECT count(*) AS n FROM measured\n"
    (shop / "views" / "weather.sql").write_text(text)
    with pytest.raises(RunFailedError, match="it is source measured, so rename the view"):
        run(shop, full_refresh=True).check()
    assert "degrees" in Table(shop / "lake" / "weather").snapshot().schema.names


def test_a_view_that_only_spark_can_run_is_refused_before_anything_runs(shop: Path) -> None:
    query = "SELECT day, upper(java_method('java.lang.Math', 'abs', 1)) AS x FROM weather"
    (shop / "views" / "odd.sql").write_text(f"-- @materialise output\n{query}\n")
    with pytest.raises(ViewRefusedError, match=r"line 2 column 19: JAVA_METHOD.*--engine spark"):
        run(shop)
    assert not (shop / "output").exists()


def test_a_missing_column_is_named_with_its_place(shop: Path) -> None:
    (shop / "views" / "odd.sql").write_text("-- @materialise output\nSELECT dya FROM weather\n")
    with pytest.raises(InvalidViewError, match=r"line 2 column 8: .*did you mean day") as caught:
        run(shop)
    assert (caught.value.line, caught.value.column) == (2, 8)


def test_a_view_may_begin_with_a_byte_order_mark(shop: Path) -> None:
    text = "\ufeff-- @materialise output\nSELECT day FROM weather\n"
    (shop / "views" / "odd.sql").write_text(text, encoding="utf-8")
    assert statuses(run(shop))["odd"] == "ran"


def test_an_unknown_runner_is_refused_by_every_method(shop: Path) -> None:
    project = Project.load(shop)
    for verb in (project.plan, project.run, project.decide, project.replay):
        with pytest.raises(InvalidArgumentError, match="'duck' is not one of spark, datafusion"):
            verb(engine="duck")


def test_an_empty_id_matches_no_run(shop: Path) -> None:
    run(shop)
    with pytest.raises(RunNotFoundError):
        Project.load(shop).show("")


def test_a_state_folder_that_cannot_be_created_is_an_error(shop: Path) -> None:
    (shop / ".headrace").write_text("a file")
    with pytest.raises(InvalidProjectError, match=r"project\.state"):
        run(shop)


def test_a_project_without_a_name_is_refused(shop: Path) -> None:
    edit(shop / "headrace.toml", 'name = "shop"', 'name = " "')
    with pytest.raises(InvalidProjectError, match="it must not be empty"):
        run(shop)


def test_an_error_of_a_function_is_reported_without_its_stack(shop: Path) -> None:
    edit(shop / "functions.py", "return pc.add(scale(ids), 1)", "raise RuntimeError('no points')")
    failure = run(shop).views["revenue"].failure
    assert failure is not None
    assert failure.text == "function points failed: RuntimeError: no points"


def test_deciding_on_many_views_looks_up_each_ones_reads_once(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    (root / "views" / "v000.sql").write_text("-- @materialise staging\nSELECT id FROM orders\n")
    for number in range(1, 20):
        text = f"-- @materialise staging\nSELECT id FROM v{number - 1:03} WHERE id > {number}\n"
        (root / "views" / f"v{number:03}.sql").write_text(text)
    project = Project.load(root)
    bundle = project.plan(engine="datafusion")
    calls = Counter[str]()

    class Counting(Bundle, frozen=True, kw_only=True):
        def upstream(self, view: str) -> tuple[str, ...]:
            calls[view] += 1
            return super().upstream(view)

    counting = Counting(**{name: getattr(bundle, name) for name in Bundle.__struct_fields__})
    Decider(
        counting, selected=set(bundle.order), last=LastResults(), outputs=Place(root / "output")
    ).decide()
    assert set(calls.values()) == {1}


def test_a_missing_data_file_is_reported_as_missing(shop: Path) -> None:
    [file] = (shop / "lake" / "weather").glob("*.parquet")
    file.unlink()
    with pytest.raises(RunFailedError, match=rf"forecast: DATA_FILE_NOT_FOUND: .*{file.name}"):
        run(shop).check()


def test_an_error_of_a_reader_keeps_its_type_through_datafusion(shop: Path) -> None:
    """The error passes through DataFusion, which only keeps its text."""
    [file] = (shop / "lake" / "weather").glob("*.parquet")
    file.write_bytes(b"x" * file.stat().st_size)
    failure = run(shop).views["forecast"].failure
    assert failure is not None
    assert failure.code == "CORRUPT_DATA_FILE"
    assert failure.text.startswith(str(file))
