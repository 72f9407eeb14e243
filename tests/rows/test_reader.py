"""The reader is lazy and bounded, closes at once, and reports everything it could not read."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace
from headrace import wiring
from headrace.errors import (
    DataFileNotFoundError,
    ReaderClosedError,
    UnsupportedPredicateError,
)
from headrace.metrics.meter import Meter
from headrace.rows.metrics import ChangeMetrics
from headrace.rows.reader import RowReader
from tests.lake.action import add
from tests.lake.log import write_commit, write_history
from tests.lake.vector import inline_vector
from tests.listing import open_snapshot
from tests.rows.lake import (
    NUMBER_FIELDS,
    field,
    numbers,
    running,
    table_lines,
    write_data,
    write_table,
)
from tests.scan.counting import CountingLocalStore
from tests.waiting import settled, wait_until

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


def counted(table: Path) -> tuple[headrace.Table, list[str]]:
    """Return a table whose store records every file that is opened."""
    store = CountingLocalStore(table)
    opened = headrace.Table(table, executor=wiring.open_executor(store))
    opened.data_store = wiring.open_files(store)
    return opened, store.opened


def data_files(opened: list[str]) -> list[str]:
    return [path for path in opened if path.endswith(".parquet")]


def open_files(folder: Path) -> list[str]:
    files = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor that listed them is closed by now
            files.append(str(link.readlink()))
    return [path for path in files if path.startswith(str(folder))]


def test_a_reader_is_a_record_batch_reader(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3)])
    reader = open_snapshot(tmp_path).rows()
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema == open_snapshot(tmp_path).schema
    assert pa.table(reader).to_pydict() == {"n": [0, 1, 2]}


def test_rows_come_newest_file_first_in_file_order(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(n, 3) for n in (0, 10, 20, 30, 40)])
    values = open_snapshot(tmp_path).rows(rows_per_batch=2).read_all()["n"].to_pylist()
    assert values == [n + more for n in (40, 30, 20, 10, 0) for more in range(3)]


def test_nothing_is_read_before_the_first_batch_is_requested(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3)])
    table, opened = counted(tmp_path)
    snapshot = table.snapshot()
    opened.clear()
    with snapshot.rows():
        assert opened == []


def test_a_limit_stops_the_log_and_the_data_files(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(n, 3) for n in range(20)])
    table, opened = counted(tmp_path)
    snapshot = table.snapshot()
    opened.clear()
    assert snapshot.rows(limit=2).read_all()["n"].to_pylist() == [19, 20]
    assert data_files(opened) == ["part-19.parquet"]
    commits_ahead = 4
    assert len([path for path in opened if path.endswith(".json")]) <= commits_ahead


def test_a_limit_of_zero_reads_nothing(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3)])
    table, opened = counted(tmp_path)
    snapshot = table.snapshot()
    opened.clear()
    assert snapshot.rows(limit=0).read_all().num_rows == 0
    assert opened == []


def test_a_limit_larger_than_one_file_reads_more_files(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(10 * n, 3) for n in range(9)])
    values = open_snapshot(tmp_path).rows(limit=20).read_all()["n"].to_pylist()
    assert len(values) == 20
    assert values[:4] == [80, 81, 82, 70]


def test_closing_early_stops_the_log_and_the_data_files(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(n, 3) for n in range(40)])
    table, opened = counted(tmp_path)
    reader = table.snapshot().rows(files_at_once=2)
    reader.read_next_batch()
    reader.close()
    assert len(data_files(opened)) <= 4


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not tell")
def test_closing_early_leaves_no_file_open(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(n, 50_000) for n in range(4)])
    reader = open_snapshot(tmp_path).rows(rows_per_batch=100)
    reader.read_next_batch()
    assert open_files(tmp_path) != []
    reader.close()
    assert open_files(tmp_path) == []


def test_a_dropped_reader_stops_too(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(n, 3) for n in range(40)])
    reader = open_snapshot(tmp_path).rows(files_at_once=2)
    reader.read_next_batch()
    assert running() != []
    del reader
    wait_until(lambda: not running())


def test_a_slow_consumer_delays_large_files(tmp_path: Path) -> None:
    large = pa.table({"n": pa.array(range(140_000), pa.int64())})
    write_table(tmp_path, NUMBER_FIELDS, [large] * 9, compression="none", use_dictionary=False)
    assert (tmp_path / "part-0.parquet").stat().st_size > 1 << 20
    table, opened = counted(tmp_path)
    with table.snapshot().rows(files_at_once=3, rows_per_batch=100_000) as reader:
        for _ in range(3):  # the first file, and part of the second
            reader.read_next_batch()
        assert settled(lambda: len(set(data_files(opened)))) == 1 + 3


def test_a_slow_consumer_delays_groups_of_small_files(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(n, 100) for n in range(60)])
    table, opened = counted(tmp_path)
    with table.snapshot().rows(files_at_once=3, rows_per_batch=10) as reader:
        for _ in range(15):  # the first group, and part of the second
            reader.read_next_batch()
        # Groups double, starting at one file; they are smaller if the log is slow.
        assert settled(lambda: len(set(data_files(opened)))) <= 1 + (2 + 4 + 8)


def test_memory_depends_on_the_options_and_not_on_the_table(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 200_000)] * 25, row_group_size=200_000)
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    with open_snapshot(tmp_path).rows(files_at_once=2, rows_per_batch=4000) as reader:
        for batch in reader:
            rows += batch.num_rows
            most = max(most, pa.total_allocated_bytes() - before)
    assert rows * 8 == 40_000_000
    # Two files each hold a buffer and some pages, and there are a few small batches.
    assert most < 15_000_000


def test_files_that_cannot_match_are_not_opened(tmp_path: Path) -> None:
    history = [table_lines(NUMBER_FIELDS)]
    for number in range(4):
        path = write_data(tmp_path, f"{number}.parquet", numbers(10 * number, 5))
        low, high = 10 * number, 10 * number + 4
        stats = f'{{"numRecords":5,"minValues":{{"n":{low}}},"maxValues":{{"n":{high}}}}}'
        history.append([add(path, stats=stats)])
    write_history(tmp_path, history)
    table, opened = counted(tmp_path)
    values = table.snapshot().rows(where="n BETWEEN 12 AND 13").read_all()["n"].to_pylist()
    assert (values, data_files(opened)) == ([12, 13], ["1.parquet"])


def test_wrong_row_counts_in_statistics_change_nothing(tmp_path: Path) -> None:
    path = write_data(tmp_path, "a.parquet", numbers(0, 5))
    lying = '{"numRecords":1,"nullCount":{"n":0}}'
    write_history(tmp_path, [table_lines(NUMBER_FIELDS), [add(path, stats=lying)]])
    snapshot = open_snapshot(tmp_path)
    assert snapshot.rows(columns=[]).read_all().num_rows == 5
    assert snapshot.rows(limit=4).read_all().num_rows == 4


@pytest.mark.parametrize(
    "where", ["n + 1 = 2", "abs(n) = 1", "n = n", "n = 1 AND n % 2 = 0", "NOT (n > length('a'))"]
)
def test_unsupported_conditions_are_refused_before_anything_is_read(
    tmp_path: Path, where: str
) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3)])
    table, opened = counted(tmp_path)
    snapshot = table.snapshot()
    opened.clear()
    with pytest.raises(UnsupportedPredicateError):
        snapshot.rows(where=where)
    assert opened == []


def test_an_empty_table_has_a_schema_and_no_rows(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [])
    read = open_snapshot(tmp_path).rows().read_all()
    assert (read.column_names, read.num_rows) == (["n"], 0)


def test_rows_of_an_older_version_are_read(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3), numbers(10, 3)])
    write_commit(tmp_path, 3, [add("part-1.parquet", vector=inline_vector([0]))])
    values = open_snapshot(tmp_path, 1).rows().read_all()["n"].to_pylist()
    assert values == [0, 1, 2]


def test_a_dataset_is_written_from_the_reader_itself(tmp_path: Path) -> None:
    write_table(tmp_path / "table", NUMBER_FIELDS, [numbers(0, 3), numbers(10, 3)])
    with pq.ParquetWriter(tmp_path / "copy.parquet", pa.schema([("n", pa.int64())])) as writer:
        for batch in open_snapshot(tmp_path / "table").rows():
            writer.write_batch(batch)
    assert pq.read_table(tmp_path / "copy.parquet").num_rows == 6


def test_row_groups_without_statistics_are_read(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 20)], row_group_size=5, write_statistics=False)
    values = open_snapshot(tmp_path).rows(where="n >= 18").read_all()["n"].to_pylist()
    assert values == [18, 19]


def test_reading_after_closing_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    data = pa.table({"id": range(10)})
    snapshot = open_snapshot(write_table(tmp_path, [field("id", "long")], [data] * 3))
    reader = snapshot.rows(rows_per_batch=5)
    reader.read_next_batch()
    reader.close()
    with pytest.raises(ReaderClosedError):
        reader.read_all()


def test_a_reader_that_has_ended_may_be_closed_and_read_again(tmp_path: Path) -> None:
    data = pa.table({"id": range(10)})
    snapshot = open_snapshot(write_table(tmp_path, [field("id", "long")], [data]))
    with snapshot.rows() as reader:
        assert reader.read_all().num_rows == 10
    assert reader.read_all().num_rows == 0


class _Batches:
    """Batches that are already in memory."""

    def __init__(self, *batches: pa.RecordBatch) -> None:
        self._batches = iter(batches)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches)

    def lift_backpressure(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_c_stream_exports_the_rows_without_a_copy() -> None:
    batch = pa.record_batch({"n": range(50_000), "s": ["x"] * 50_000})
    reader = RowReader(batch.schema, _Batches(batch), metrics=ChangeMetrics(Meter()))
    stream = pa.RecordBatchReader.from_stream(reader)
    assert _addresses(stream.read_next_batch()) == _addresses(batch)
    assert stream.read_all().num_rows == 0


def _addresses(batch: pa.RecordBatch) -> list[int]:
    return [buffer.address for c in batch.columns for buffer in c.buffers() if buffer is not None]


def test_a_released_c_stream_stops_the_threads(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(n, 3) for n in range(40)])
    reader = open_snapshot(tmp_path).rows(files_at_once=2)
    stream = pa.RecordBatchReader.from_stream(reader)
    stream.read_next_batch()
    assert running() != []
    stream.close()
    del stream
    wait_until(lambda: not running())


def test_an_error_keeps_its_text_and_type_through_a_c_stream(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(0, 3)])
    (tmp_path / "part-0.parquet").unlink()
    reader = open_snapshot(tmp_path).rows()
    with pytest.raises(Exception, match="part-0"):
        pa.RecordBatchReader.from_stream(reader).read_all()
    assert isinstance(reader.error, DataFileNotFoundError)


def test_every_way_to_read_returns_the_same_rows(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(n, 3) for n in range(5)])
    snapshot = open_snapshot(tmp_path)
    expected = snapshot.rows().read_all()
    assert pa.table(snapshot.rows()).equals(expected)
    assert pa.Table.from_batches(list(snapshot.rows())).equals(expected)
    assert pa.Table.from_pandas(snapshot.rows().read_pandas()).equals(expected)
    assert snapshot.rows().cast(expected.schema).read_all().equals(expected)
    batches = [batch for batch, _ in snapshot.rows().iter_batches_with_custom_metadata()]
    assert pa.Table.from_batches(batches).equals(expected)
    with pa.BufferOutputStream() as sink, pq.ParquetWriter(sink, expected.schema) as writer:
        for batch in snapshot.rows():
            writer.write_batch(batch)


def test_small_files_come_in_batches_of_a_useful_size(tmp_path: Path) -> None:
    write_table(tmp_path, NUMBER_FIELDS, [numbers(10 * n, 10) for n in range(60)])
    batches = list(open_snapshot(tmp_path).rows())
    assert sum(batch.num_rows for batch in batches) == 600
    assert len(batches) < 60
    sizes = [batch.num_rows for batch in open_snapshot(tmp_path).rows(rows_per_batch=25)]
    assert (sum(sizes), max(sizes)) == (600, 20)


def test_the_cost_of_a_column_does_not_depend_on_the_number_of_columns(tmp_path: Path) -> None:
    def cpu_s(columns: int) -> float:
        names = [f"c{n}" for n in range(columns)]
        folder = tmp_path / str(columns)
        data = pa.table({name: [1] for name in names})
        write_table(folder, [field(name, "long") for name in names], [data])
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            open_snapshot(folder).rows().read_all()
            best = min(best, time.process_time() - started)
        return best

    assert cpu_s(4000) < 10 * cpu_s(1000)  # quadratic cost would be a factor of sixteen


@pytest.mark.parametrize("where", [None, "n IN (3, 40) OR n > 60", "n < 20"])
def test_small_files_of_several_kinds_are_read_in_order(tmp_path: Path, where: str | None) -> None:
    kinds = [pa.int64(), pa.int32(), pa.int64(), pa.int64(), pa.int16()]
    files = [
        pa.table({"n": pa.array(range(4 * n, 4 * n + 4), kinds[n % 5 if n % 7 else 0])})
        for n in range(24)
    ]
    write_table(tmp_path, NUMBER_FIELDS, files, deleted={3: [1], 9: [0, 1, 2, 3], 10: [2]})
    deleted = {13, 36, 37, 38, 39, 42}
    chosen = {
        None: range(96),
        "n IN (3, 40) OR n > 60": {3, 40, *range(61, 96)},
        "n < 20": range(20),
    }
    expected = [n for f in reversed(range(24)) for n in range(4 * f, 4 * f + 4)]
    expected = [n for n in expected if n not in deleted and n in chosen[where]]
    assert open_snapshot(tmp_path).rows(where=where).read_all()["n"].to_pylist() == expected
