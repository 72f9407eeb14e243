"""Sources: each pinned to one version, missing where allowed, and of custom kinds."""

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import (
    InvalidArgumentError,
    InvalidProjectError,
    PinConflictError,
    TableNotFoundError,
)
from headrace.pipeline import Project
from headrace.pipeline.arrow_ddl import schema_text
from headrace.pipeline.sources import source as source_module
from headrace.pipeline.sources.file_set import FILES, FileSet
from headrace.pipeline.sources.source import SourceRequest
from headrace.pipeline.sources.source_pin import PinOrigin, SourcePin, harmless_uri, parse_pins
from tests.pipeline.shop import append_orders, edit


def add_source(root: Path, name: str, lines: str, sql: str = "") -> None:
    with (root / "headrace.toml").open("a") as manifest:
        manifest.write(f"\n[sources.{name}]\n{lines}\n")
    text = sql or f"SELECT * FROM {name}"
    (root / "views" / f"of_{name}.sql").write_text(text)


def test_a_source_is_pinned_to_the_newest_or_the_requested_version(shop: Path) -> None:
    project = Project.load(shop)
    assert (project.plan().pins["orders"].version, project.plan().pins["orders"].origin) == (
        1,
        PinOrigin.NEWEST,
    )
    pinned = project.plan(pins={"orders": 0})
    assert (pinned.pins["orders"].version, pinned.pins["orders"].origin) == (0, PinOrigin.REQUEST)
    assert pinned["revenue"].unit("orders").files_total == 1


def test_a_pin_has_the_facts_of_the_log_and_no_secrets(shop: Path) -> None:
    edit(
        shop / "headrace.toml",
        '"lake/orders"',
        '"lake/orders"\noptions = { aws_region = "eu", aws_secret_access_key = "s3cret" }',
    )
    bundle = Project.load(shop).plan()
    pin = bundle.pins["orders"]
    assert pin.options == {"aws_region": "eu", "aws_secret_access_key": "(hidden)"}
    assert b"s3cret" not in bundle.encode()
    assert (pin.kind, pin.partition_columns, pin.reader_version) == ("delta", ("year",), 1)
    assert pin.timestamp_ms is not None
    assert pin.schema == "id BIGINT NOT NULL, customer BIGINT, amount DECIMAL(12,2), year INT"


@pytest.mark.parametrize(
    ("uri", "recorded"),
    [
        ("s3://user:secret@bucket/t", "s3://bucket/t"),
        ("https://host/t?sig=abc", "https://host/t"),
        ("lake/a?b", "lake/a?b"),
        ("abfss://container@account/t", "abfss://container@account/t"),
    ],
)
def test_an_address_is_recorded_without_secrets(uri: str, recorded: str) -> None:
    assert harmless_uri(uri) == recorded


def test_two_pins_for_one_source_are_refused(shop: Path) -> None:
    edit(shop / "headrace.toml", '"lake/orders"', '"lake/orders"\nversion = 1')
    project = Project.load(shop)
    assert project.plan(pins={"orders": 1}).pins["orders"].origin is PinOrigin.PROJECT
    with pytest.raises(PinConflictError) as caught:
        project.plan(pins={"orders": 0})
    assert caught.value.pins == ("version 1 (in headrace.toml)", "version 0")
    with pytest.raises(PinConflictError):
        parse_pins(["orders=1", "orders=2"])
    assert parse_pins(["orders=1", "orders=1", "weather=0"]) == {"orders": 1, "weather": 0}


def test_a_pin_that_names_no_source_or_no_version_is_refused(shop: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="there is no source ordres"):
        Project.load(shop).plan(pins={"ordres": 1})
    with pytest.raises(InvalidArgumentError, match="is not SOURCE=VERSION"):
        parse_pins(["orders"])


def test_a_source_can_be_pinned_to_a_time(shop: Path) -> None:
    edit(shop / "headrace.toml", '"lake/orders"', '"lake/orders"\nas_of = 2100-01-01T00:00:00Z')
    pin = Project.load(shop).plan().pins["orders"]
    assert (pin.version, pin.origin) == (1, PinOrigin.PROJECT)


def test_a_missing_source_fails_unless_it_is_optional(shop: Path) -> None:
    add_source(shop, "gone", 'uri = "lake/gone"')
    with pytest.raises(TableNotFoundError):
        Project.load(shop).plan()
    edit(shop / "headrace.toml", '"lake/gone"', '"lake/gone"\noptional = true\nschema = "a INT"')
    bundle = Project.load(shop).plan()
    assert bundle.pins["gone"].origin is PinOrigin.MISSING
    assert bundle["of_gone"].unit("gone").files_total == 0
    assert bundle["of_gone"].schema == "a INT"


def test_an_optional_source_that_appears_is_a_change(shop: Path) -> None:
    add_source(shop, "late", 'uri = "lake/late"\noptional = true\nschema = "day BIGINT"')
    before = Project.load(shop).plan()["of_late"]
    (shop / "lake" / "weather").rename(shop / "lake" / "late")
    edit(shop / "headrace.toml", '"lake/weather"', '"lake/late"')
    assert Project.load(shop).plan()["of_late"].skip_key != before.skip_key


def test_two_names_of_one_table_are_pinned_to_one_version(shop: Path) -> None:
    add_source(shop, "again", 'uri = "lake/orders"')
    pins = Project.load(shop).plan().pins
    assert pins["again"].version == pins["orders"].version
    append_orders(shop, year=2024, count=1)
    assert Project.load(shop).plan(pins={"again": 0}).pins["orders"].version == 2


def write_parquet(folder: Path, name: str, rows: list[int]) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"a": rows}), folder / name)


@pytest.mark.parametrize("uri", ["files", "files/*.parquet", "files/x.parquet"])
def test_parquet_files_are_a_source_with_a_declared_schema(shop: Path, uri: str) -> None:
    write_parquet(shop / "files", "x.parquet", [1, 2])
    add_source(shop, "p", f'uri = "{uri}"\nkind = "parquet"\nschema = "a BIGINT"')
    view = Project.load(shop).plan()["of_p"]
    assert view.schema == "a BIGINT"
    assert view.unit("p").paths == ("x.parquet",)
    assert view.skip_key == Project.load(shop).plan()["of_p"].skip_key
    write_parquet(shop / "files", "x.parquet", [1, 2, 3])
    assert Project.load(shop).plan()["of_p"].skip_key != view.skip_key


def test_parquet_files_have_no_versions(shop: Path) -> None:
    write_parquet(shop / "files", "x.parquet", [1])
    add_source(shop, "p", 'uri = "files"\nkind = "parquet"\nschema = "a BIGINT"')
    with pytest.raises(InvalidProjectError, match="Parquet files have no versions"):
        Project.load(shop).plan(pins={"p": 1})


class Numbers:
    """A custom source: as many numbers as its address says."""

    def __init__(self, request: SourceRequest) -> None:
        self.count = int(request.spec.uri)
        self.schema = pa.schema([("n", pa.int64())])
        self.pin = SourcePin(
            source=request.name,
            kind="numbers",
            uri=request.spec.uri,
            origin=PinOrigin.NEWEST,
            version=self.count,
            schema=schema_text(self.schema),
        )

    def prune(self, where: str | None) -> FileSet:
        assert where in {None, "n > 3"}
        row = {"path": f"up-to-{self.count}", "dv_id": None, "size_bytes": 8 * self.count}
        return FileSet.of([pa.RecordBatch.from_pylist([row], FILES)], total=1)

    def batches(self, columns: tuple[str, ...] | None = None) -> Iterator[Any]:
        assert columns in {None, ("n",)}
        yield pa.RecordBatch.from_pydict({"n": list(range(self.count))}, self.schema)


def test_a_kind_of_source_comes_from_an_entry_point(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = importlib.metadata.EntryPoint(
        "numbers", f"{__name__}:Numbers", source_module.ENTRY_POINTS
    )
    monkeypatch.setattr(importlib.metadata.EntryPoint, "load", lambda _: Numbers)
    monkeypatch.setattr(source_module, "entry_points", lambda *, group: [point])  # noqa: ARG005
    add_source(shop, "n", 'uri = "7"\nkind = "numbers"', "SELECT n FROM n WHERE n > 3")
    bundle = Project.load(shop).plan()
    assert bundle.pins["n"].version == 7
    assert bundle["of_n"].unit("n").paths == ("up-to-7",)


def test_an_unknown_kind_of_source_is_named(shop: Path) -> None:
    add_source(shop, "n", 'uri = "7"\nkind = "iceberg"')
    with pytest.raises(InvalidProjectError, match=r"sources\.n\.kind: there is no kind 'iceberg'"):
        Project.load(shop).plan()


def test_the_digest_of_files_does_not_depend_on_their_order() -> None:
    rows = [
        {"path": "a", "dv_id": None, "size_bytes": 1},
        {"path": "b", "dv_id": "x", "size_bytes": 2},
        {"path": "b", "dv_id": None, "size_bytes": 2},
    ]
    one, two = (
        FileSet.of([pa.RecordBatch.from_pylist([row], FILES) for row in order], total=3)
        for order in (rows, rows[::-1])
    )
    assert one.digest == two.digest
    fewer = FileSet.of([pa.RecordBatch.from_pylist(rows[:2], FILES)], total=3)
    assert fewer.digest != one.digest
    assert FileSet.of([], total=0).digest != one.digest
