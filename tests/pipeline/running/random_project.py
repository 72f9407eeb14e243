"""Random small projects, and random changes to any part of them and of their lake."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from hypothesis import strategies as st

from headrace.errors import PipelineError
from headrace.pipeline import Project
from tests.pipeline.shop import (
    append_orders,
    append_weather,
    compact_orders,
    delete_orders,
    edit,
    replace_views,
    write_shop,
)

Change = Callable[[Path], None]

_AGGREGATES = ("sum(amount)", "max(amount)", "count(*)", "min(id)", "max(points(id))")
_FILTERS = ("", "WHERE year = 2024", "WHERE year >= 2023 AND id < 12", "WHERE amount > :least")
_STARS = (
    "SELECT * FROM customers",
    "SELECT * FROM customers WHERE id > 0",
    "SELECT c.* FROM customers c",
)
_FUNCTIONS = (
    "FACTOR = 3",
    "FACTOR = 4",
    "FACTOR = int(TABLE['a'])",
    "FACTOR = 3\nTABLE['a'] = 5",
    "FACTOR = int((Path(__file__).parent / 'factor.txt').read_text())",
)
_IMPORTS = "from pathlib import Path\n\nTABLE = {'a': 2}\n"


@st.composite
def projects(draw: st.DrawFn) -> Change:
    """Draw a project whose views read each other, with functions, stars and Parquet files."""
    aggregate, where = draw(st.sampled_from(_AGGREGATES)), draw(st.sampled_from(_FILTERS))
    star = draw(st.sampled_from(_STARS))
    staged = draw(st.sampled_from(("staging", "none", "memory", "output")))

    def write(root: Path) -> None:
        write_shop(root)
        views = {
            "first": (
                f"-- @materialise {staged}\n"
                f"SELECT customer, {aggregate} AS n FROM orders {where} GROUP BY customer\n"
            ),
            "second": "-- @materialise output\nSELECT n FROM first WHERE n IS NOT NULL\n",
            "star": f"-- @materialise output\n{star}\n",
            "files": "-- @materialise output\nSELECT a FROM p WHERE a < 10\n",
        }
        replace_views(root, views)
        edit(root / "functions.py", "FACTOR = 3", f"{_IMPORTS}FACTOR = 3")
        (root / "factor.txt").write_text("7")
        source = '[sources.p]\nuri = "files"\nkind = "parquet"\nschema = "a BIGINT"\n\n[settings]'
        edit(root / "headrace.toml", "[settings]", source)
        (root / "files").mkdir()
        write_file(root, "low", 1)

    return write


def write_file(root: Path, name: str, value: int) -> None:
    pq.write_table(pa.table({"a": [value, value + 1]}), root / "files" / f"{name}.parquet")


def _replace_in(file: str, old: str, new: str) -> Change:
    def change(root: Path) -> None:
        text = (root / file).read_text()
        (root / file).write_text(text.replace(old, new, 1))

    return change


def _set_factor(line: str) -> Change:
    def change(root: Path) -> None:
        text = (root / "functions.py").read_text()
        start = text.index("FACTOR =")
        end = text.index("\n\n", start)
        (root / "functions.py").write_text(text[:start] + line + text[end:])

    return change


def _recreate_customers(root: Path) -> None:
    """Replace a table by another one at the same address, with the name of one of its files."""
    table = root / "lake" / "customers"
    name = min(file.name for file in table.glob("*.parquet"))
    shutil.rmtree(table)
    write_deltalake(table, pa.table({"id": pa.array([0, 1, 2]), "name": ["Eva", "Flo", "Gus"]}))
    (written_file,) = table.glob("*.parquet")
    written_file.rename(table / name)
    log = table / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace(written_file.name, name))


def _add_column(root: Path) -> None:
    rows = pa.table({"id": pa.array([9]), "name": ["New"], f"extra_{len(_columns(root))}": [1]})
    write_deltalake(root / "lake" / "customers", rows, mode="append", schema_mode="merge")


def _columns(root: Path) -> list[str]:
    return [field.name for field in DeltaTable(root / "lake" / "customers").schema().fields]


def _lose_a_file(root: Path) -> None:
    for file in sorted((root / "output" / "second").rglob("*.parquet"))[:1]:
        file.unlink()


def _write_to_output(root: Path) -> None:
    write_deltalake(root / "output" / "files", pa.table({"a": [99]}), mode="append")


def _recreate_output(root: Path) -> None:
    """Replace an output by another writer's table of the same version."""
    table = root / "output" / "star"
    version = DeltaTable(table).version()
    rows = DeltaTable(table).to_pyarrow_table().slice(0, 1)
    shutil.rmtree(table)
    for _ in range(version + 1):
        write_deltalake(table, rows, mode="overwrite")


def _run(**request: Any) -> Change:
    """Run in a way that leaves tables in a state that a plain run would not leave."""

    def change(root: Path) -> None:
        with suppress(PipelineError):  # for example, if a view reads one that has no result yet
            Project.load(root).run(engine="datafusion", **request)

    return change


def _run_first_bundle(root: Path) -> None:
    project = Project.load(root)
    first = project.runs()[-1]
    with suppress(PipelineError):
        project.run(engine="datafusion", bundle=first.bundle, full_refresh=True)


def _lose_index(root: Path) -> None:
    (root / ".headrace" / "results.json").unlink(missing_ok=True)


def _lose_state(root: Path) -> None:
    shutil.rmtree(root / ".headrace")


def _lose_bundles(root: Path) -> None:
    shutil.rmtree(root / ".headrace" / "bundles", ignore_errors=True)


CHANGES: dict[str, Change] = {
    "a literal": _replace_in("views/first.sql", "2024", "2023"),
    "an aggregate": _replace_in("views/first.sql", "max(", "min("),
    "a condition": _replace_in("views/second.sql", "n IS NOT NULL", "n > 5"),
    "a comment": _replace_in("views/second.sql", "SELECT n", "-- all\nSELECT n"),
    "a limit of a file source": _replace_in("views/files.sql", "a < 10", "a < 2"),
    **{f"functions: {line!r}": _set_factor(line) for line in _FUNCTIONS},
    "a file that a function reads": _replace_in("factor.txt", "7", "8"),
    "a variable": _replace_in("headrace.toml", "least = 10", "least = 50"),
    "a time zone": _replace_in("headrace.toml", '"UTC"', '"Europe/Rome"'),
    "rows of this year": lambda root: append_orders(root, year=2024, count=3),
    "rows of another year": lambda root: append_orders(root, year=2022, count=3),
    "rows elsewhere": lambda root: append_weather(root, day=5),
    "deleted rows": lambda root: delete_orders(root, "id = 4"),
    "a compaction": compact_orders,
    "another table": _recreate_customers,
    "a new column": _add_column,
    "a Parquet file": lambda root: write_file(root, "low", 3),
    "one more Parquet file": lambda root: write_file(root, "more", 5),
    "a Parquet file that is pruned": lambda root: write_file(root, "high", 500),
    "a lost file of an output": _lose_a_file,
    "foreign rows in an output": _write_to_output,
    "a recreated output": _recreate_output,
    "a run of a view alone": _run(select=["second"]),
    "a run of what a view reads alone": _run(select=["first"]),
    "a run without what a view reads": _run(exclude=["first"], full_refresh=True),
    "a run over older versions": _run(pins={"orders": 0, "customers": 0}),
    "a run with another variable": _run(variables={"least": 70}),
    "a run of the first bundle": _run_first_bundle,
    "the newest results lost": _lose_index,
    "the bundles lost": _lose_bundles,
    "the state lost": _lose_state,
    "nothing": lambda _: None,
}
