"""Changed rows, compared with deltalake if there is a feed, else with the versions' difference."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Table
from headrace.errors import (
    ChangeDataMissingError,
    UnknownColumnError,
)
from tests.lake.action import Line, add, commit_info, remove
from tests.lake.log import write_commit, write_history
from tests.lake.vector import inline_vector
from tests.rows.lake import field, table_lines, write_data

FEED = {"delta.enableChangeDataFeed": "true"}
SPECIAL = ["_change_type", "_commit_version"]


def rows_of(table: Any) -> Counter[tuple[Any, ...]]:
    """Return the rows without the commit time, which writers and readers report differently."""
    names = [name for name in table.schema.names if name != "_commit_timestamp"]
    return Counter(tuple(row[name] for name in names) for row in table.to_pylist())


def theirs(path: Path, start: int, end: int | None = None) -> Counter[tuple[Any, ...]]:
    feed = DeltaTable(path).load_cdf(starting_version=start, ending_version=end)
    table = pa.table(feed.read_all())
    columns = [name for name in table.column_names if not name.startswith("_commit_timestamp")]
    order = [n for n in Table(path).snapshot().schema.names if n in columns] + SPECIAL
    return rows_of(table.select(order))


def ours(path: Path, start: Any = 0, end: Any = None, **options: Any) -> Counter[tuple[Any, ...]]:
    return rows_of(Table(path).change_rows(start, end, **options).read_all())


@pytest.fixture
def fed(tmp_path: Path) -> Path:
    """Run every delta-rs operation on a table with a change data feed."""
    path = tmp_path / "fed"
    rows = pa.table({"id": [1, 2, 3, 4], "city": ["Bern", "Basel", "Bern", None]})
    write_deltalake(path, rows, partition_by=["city"], configuration=FEED)
    write_deltalake(path, pa.table({"id": [5], "city": ["Chur"]}), mode="append")
    table = DeltaTable(path)
    table.update(updates={"id": "id * 10"}, predicate="city = 'Bern'")
    table.delete("id = 5")
    source = pa.table({"id": [2, 7], "city": ["Basel", "Geneva"]})
    merge = table.merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update({"id": "s.id + 100"}).when_not_matched_insert_all().execute()
    table.optimize.compact()
    table.delete()
    return path


def test_a_feed_is_read_as_deltalake_reads_it(fed: Path) -> None:
    newest = DeltaTable(fed).version()
    assert ours(fed) == theirs(fed, 0)
    for version in range(newest + 1):
        assert ours(fed, version, version) == theirs(fed, version, version), version
    kinds = {row[-2] for row in ours(fed)}
    assert kinds == {"insert", "delete", "update_preimage", "update_postimage"}


def test_the_columns_of_the_feed_follow_those_of_the_table(fed: Path) -> None:
    schema = Table(fed).change_rows(columns=["city"]).schema
    assert schema.names == ["city", "_change_type", "_commit_version", "_commit_timestamp"]
    assert schema.field("_commit_timestamp").type == pa.timestamp("us", "UTC")


def test_conditions_are_exact(fed: Path) -> None:
    where = "city = 'Bern' AND id > 1"
    expected = {
        row: count
        for row, count in theirs(fed, 0).items()
        if row[1] == "Bern" and row[0] is not None and row[0] > 1
    }
    assert ours(fed, where=where) == expected
    with pytest.raises(UnknownColumnError):
        Table(fed).change_rows(where="_change_type = 'insert'")


def test_an_empty_range_has_its_schema(fed: Path) -> None:
    reader = Table(fed).change_rows(datetime.now(UTC) + timedelta(days=1))
    assert reader.schema.names == ["id", "city", *SPECIAL, "_commit_timestamp"]
    assert reader.read_all().num_rows == 0


FIELDS = [field("id", "long"), field("p", "string")]


class Lake:
    """A table without a feed, written commit by commit, and the truth about its versions."""

    def __init__(self, path: Path, *, partitioned: bool, properties: dict[str, str]) -> None:
        self.path = path
        columns = ["p"] if partitioned else []
        self.partitioned = partitioned
        lines = table_lines(FIELDS, partition_columns=columns, properties=properties)
        self.commits: list[list[Line]] = [lines]
        self.files: dict[str, tuple[list[int], str, set[int]]] = {}
        self.versions: list[Counter[tuple[Any, ...]]] = []
        self.names = 0

    def add(self, values: list[int], part: str) -> Line:
        self.names += 1
        name = f"{self.names}.parquet"
        columns: dict[str, Any] = {"id": pa.array(values, pa.int64())}
        if not self.partitioned:
            columns["p"] = [part] * len(values)
        write_data(self.path, name, pa.table(columns))
        self.files[name] = (values, part, set())
        return add(name, partition_values=self._partition(part))

    def remove(self, name: str) -> Line:
        _, part, deleted = self.files.pop(name)
        line = remove(name, vector=inline_vector(sorted(deleted)) if deleted else None)
        line["remove"]["partitionValues"] = self._partition(part)
        return line

    def delete(self, name: str, rows: set[int]) -> list[Line]:
        values, part, deleted = self.files[name]
        line = self.remove(name)
        self.files[name] = (values, part, deleted | rows)
        vector = inline_vector(sorted(deleted | rows)) if deleted | rows else None
        return [line, add(name, partition_values=self._partition(part), vector=vector)]

    def commit(self, *lines: Line) -> None:
        first = self.commits.pop() if not self.versions else []
        write_commit(self.path, len(self.versions), [*first, *lines])
        self.versions.append(
            Counter(
                (value, part)
                for values, part, deleted in self.files.values()
                for row, value in enumerate(values)
                if row not in deleted
            )
        )

    def _partition(self, part: str) -> dict[str, str | None]:
        return {"p": part} if self.partitioned else {}

    def difference(self, version: int) -> Counter[tuple[Any, ...]]:
        """Return the rows that a version gained and lost against the previous one."""
        before = self.versions[version - 1] if version else Counter()
        after = self.versions[version]
        inserted = {(*row, "insert", version): n for row, n in (after - before).items()}
        deleted = {(*row, "delete", version): n for row, n in (before - after).items()}
        return Counter({**inserted, **deleted})


@pytest.fixture
def lake(tmp_path: Path) -> Callable[..., Lake]:
    return lambda *, partitioned=False, **properties: Lake(
        tmp_path / "lake", partitioned=partitioned, properties=properties
    )


def test_appends_deletes_and_vectors_are_derived_exactly(lake: Callable[..., Lake]) -> None:
    table = lake()
    table.commit(table.add([1, 2, 3, 4], "a"), table.add([5, 6], "b"))
    table.commit(table.add([7], "a"))
    table.commit(*table.delete("1.parquet", {1}))
    table.commit(*table.delete("1.parquet", {1, 3}))
    table.commit(table.remove("1.parquet"), table.remove("3.parquet"))
    for version in range(5):
        assert ours(table.path, version, version) == table.difference(version), version


def test_a_rewrite_without_a_feed_is_refused(lake: Callable[..., Lake]) -> None:
    table = lake()
    table.commit(table.add([1, 2, 3], "a"))
    table.commit(table.remove("1.parquet"), table.add([1, 2], "a"))
    assert ours(table.path, 0, 0) == table.difference(0)
    with pytest.raises(ChangeDataMissingError, match=r"version 1.*rewrites 1.parquet"):
        ours(table.path, 0, 1)


def test_an_update_by_vector_and_new_file_is_refused_too(lake: Callable[..., Lake]) -> None:
    table = lake()
    table.commit(table.add([1, 2, 3], "a"))
    table.commit(*table.delete("1.parquet", {0}), table.add([1], "a"))
    with pytest.raises(ChangeDataMissingError):
        ours(table.path)


def test_replaced_partitions_are_derived(lake: Callable[..., Lake]) -> None:
    table = lake(partitioned=True)
    table.commit(table.add([1, 2], "a"), table.add([1], "b"))
    table.commit(table.remove("1.parquet"), table.add([1, 2], "c"))
    assert ours(table.path, 1) == table.difference(1)
    table.commit(table.remove("2.parquet"), table.add([9], "b"))
    with pytest.raises(ChangeDataMissingError):
        ours(table.path)


def test_commits_that_only_move_rows_change_none(lake: Callable[..., Lake]) -> None:
    table = lake()
    table.commit(table.add([1], "a"), table.add([2], "a"))
    lines = [table.remove("1.parquet"), table.remove("2.parquet"), table.add([1, 2], "a")]
    for line in lines:
        next(iter(line.values()))["dataChange"] = False
    table.commit(*lines)
    assert ours(table.path, 1) == Counter() == table.difference(1)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_random_histories_are_exact_or_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    partitioned = data.draw(st.booleans())
    lake = Lake(tmp_path_factory.mktemp("lake"), partitioned=partitioned, properties={})
    for _ in range(data.draw(st.integers(1, 5))):
        lines: list[Line] = []
        for _ in range(data.draw(st.integers(0, 2))):
            part = data.draw(st.sampled_from("ab"))
            lines.append(lake.add(data.draw(st.lists(st.integers(0, 3), min_size=1)), part))
        new = {line["add"]["path"] for line in lines}
        for name in data.draw(st.lists(st.sampled_from(sorted(lake.files) or ["-"]), unique=True)):
            if name in new or name not in lake.files:
                continue
            if data.draw(st.booleans()):
                lines.append(lake.remove(name))
            else:
                rows = st.integers(0, len(lake.files[name][0]) - 1)
                lines += lake.delete(name, data.draw(st.sets(rows)))
        lake.commit(*lines)
    for version in range(len(lake.versions)):
        try:
            changed = ours(lake.path, version, version)
        except ChangeDataMissingError:
            continue
        assert changed == lake.difference(version)


def test_a_dropped_column_is_not_lost_silently(tmp_path: Path) -> None:
    both, one = ([field("id", "long"), field("n", "long")], [field("id", "long")])
    path = write_data(tmp_path, "a.parquet", pa.table({"id": [1], "n": [2]}))
    first, second = table_lines(both), table_lines(one)
    write_history(tmp_path, [[*first, add(path)], [second[1]], [commit_info()]])
    with pytest.raises(ChangeDataMissingError, match="column n"):
        ours(tmp_path, 0)
    with pytest.raises(ChangeDataMissingError, match="column n"):
        ours(tmp_path, 1)  # what is in force before the range counts, too
    assert ours(tmp_path, 2) == Counter()


def test_a_new_column_is_null_in_older_rows(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    rows = pa.table({"id": [2], "n": [3]})
    write_deltalake(tmp_path, rows, mode="append", schema_mode="merge")
    assert ours(tmp_path) == {(1, None, "insert", 0): 1, (2, 3, "insert", 1): 1}


def test_history_equals_that_of_deltalake(fed: Path) -> None:
    entries = Table(fed).history()
    expected = DeltaTable(fed).history()
    assert [(e.version, e.operation) for e in entries] == [
        (e["version"], e["operation"]) for e in expected
    ]
    for entry, theirs_ in zip(entries, expected, strict=True):
        metrics = theirs_.get("operationMetrics") or {}
        numbers = {k: v for k, v in metrics.items() if isinstance(v, int)}
        assert entry.metrics.items() >= numbers.items()
    assert all("delta-rs" in (entry.engine or "") for entry in entries)


def test_history_reads_no_more_commits_than_requested(fed: Path) -> None:
    assert [entry.version for entry in Table(fed).history(2)] == [5, 4]
    assert Table(fed).history(limit=0) == []
