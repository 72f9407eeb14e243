"""Lineage against another engine: it must include every dependency that a change reveals.

DuckDB computes each view twice, before and after the values of one source column change. A result
column that differs depends on that source column, whatever the plan or the SQL suggests.
"""

# ruff: noqa: E501, ISC004  (a table reads best with one view a line)

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from deltalake import write_deltalake
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.pipeline import Project
from headrace.pipeline.analysis.lineage import LineageOrigin

ORDERS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5, 6], pa.int64()),
        "customer": pa.array([1, 1, 2, 3, None, 2], pa.int64()),
        "amount": pa.array([10, 20, 30, 40, 50, 20], pa.int64()),
        "city": ["Bern", "Ulm", "Bern", "Kiel", "Ulm", None],
        "tags": pa.array([["a", "b"], ["b"], [], ["c"], None, ["a"]], pa.list_(pa.string())),
    }
)
CUSTOMERS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "name": ["Ann", "Bob", "Cy", "Di"],
        "region": ["n", "s", "n", "s"],
    }
)
TABLES = {"orders": ORDERS, "customers": CUSTOMERS}

PLANNED = [
    "SELECT id, amount * 2 AS twice FROM orders",
    "SELECT city FROM orders WHERE amount > 15",
    "SELECT city, sum(amount) AS total FROM orders GROUP BY city",
    "SELECT city, sum(amount) AS total FROM orders GROUP BY city HAVING max(id) > 2",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id",
    "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id",
    "SELECT o.id FROM orders o LEFT JOIN customers c ON o.customer = c.id WHERE c.region = 'n'",
    "SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE region = 's')",
    "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer)",
    "SELECT id, (SELECT max(region) FROM customers) AS r FROM orders",
    "WITH big AS (SELECT id, city FROM orders WHERE amount > 15) SELECT city AS place FROM big",
    "SELECT id, city FROM orders UNION ALL SELECT id, name FROM customers",
    "SELECT id FROM orders UNION SELECT id FROM customers",
    "SELECT id FROM orders EXCEPT SELECT customer FROM orders WHERE customer IS NOT NULL",
    "SELECT id, sum(amount) OVER (PARTITION BY city ORDER BY id) AS running FROM orders",
    "SELECT id, row_number() OVER (PARTITION BY customer ORDER BY amount, id) AS n FROM orders",
    "SELECT DISTINCT city FROM orders",
    "SELECT id, CASE WHEN amount > 25 THEN city ELSE 'small' END AS label FROM orders",
    "SELECT city FROM orders ORDER BY amount, id LIMIT 2",
    "SELECT max(CASE WHEN customer = 2 THEN amount END) AS most FROM orders",
    "SELECT t.total FROM (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer) t "
    "JOIN customers c ON c.id = t.customer WHERE c.name <> 'Bob'",
    "SELECT count(*) AS n, count(DISTINCT city) AS cities FROM orders",
]
HARD_TO_PLAN = [
    "SELECT id, explode(tags) AS tag FROM orders",
    "SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag WHERE tag <> city",
    "SELECT id, transform(tags, t -> concat(t, city)) AS tagged FROM orders",
    "SELECT city, max_by(id, amount) AS top FROM orders GROUP BY city",
    "WITH t AS (SELECT id AS k, explode(tags) AS tag FROM orders) "
    "SELECT c.name, t.tag FROM t JOIN customers c ON c.id = t.k",
    "SELECT id, city FROM orders WHERE cardinality(filter(tags, t -> t > 'a')) > 0",
    "SELECT id, name FROM customers WHERE id IN (SELECT customer FROM orders LATERAL VIEW "
    "explode(tags) e AS t WHERE t = 'a')",
    "SELECT city, array_join(transform(tags, t -> upper(t)), ',') AS j, "
    "sum(amount) OVER (PARTITION BY city) AS s FROM orders",
    "SELECT tag, count(*) AS n FROM orders LATERAL VIEW explode(tags) t AS tag GROUP BY tag "
    "HAVING max(amount) > 20",
    "SELECT id, transform(tags, t -> t) AS x FROM orders UNION ALL "
    "SELECT id, transform(array(name), n -> n) FROM customers",
]


def mutated(values: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Yield the values of a column, changed in a few ways."""
    listed = values.to_pylist()
    yield pa.array(listed[1:] + listed[:1], values.type)
    if pa.types.is_integer(values.type):
        yield pa.array([None if v is None else 7 * v - 3 for v in listed], values.type)
    elif pa.types.is_string(values.type):
        yield pa.array([None if v is None else f"x{v}" for v in listed], values.type)
    yield pa.array([listed[-1]] * len(listed), values.type)


def computed(sql: str, tables: Mapping[str, pa.Table]) -> dict[str, Counter[str]]:
    """Return the values of each result column."""
    connection = duckdb.connect(config={"threads": 1})
    for name, table in tables.items():
        connection.register(name, table)
    result = connection.sql(sql).to_arrow_table()
    return {
        name.casefold(): Counter(map(repr, result.column(place).to_pylist()))
        for place, name in enumerate(result.column_names)
    }


def changes(sql: str) -> dict[str, set[str]]:
    """Return, for each result column, the source columns that it was observed to depend on."""
    judged = sqlglot.transpile(sql, "spark", "duckdb")[0]
    before = computed(judged, TABLES)
    dependencies: dict[str, set[str]] = {name: set() for name in before}
    for table, rows in TABLES.items():
        for place, column in enumerate(rows.column_names):
            for values in mutated(rows.column(place)):
                changed = rows.set_column(place, column, values)
                after = computed(judged, {**TABLES, table: changed})
                for name in before:
                    if before[name] != after[name]:
                        dependencies[name].add(f"{table}.{column}")
    return dependencies


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lineage") / "project"
    (root / "views").mkdir(parents=True)
    sources = "".join(f'[sources.{name}]\nuri = "lake/{name}"\n' for name in TABLES)
    (root / "headrace.toml").write_text(f'[project]\nname = "traced"\n{sources}')
    for name, table in TABLES.items():
        write_deltalake(str(root / "lake" / name), table)
    return root


@pytest.mark.parametrize("sql", [*PLANNED, *HARD_TO_PLAN])
def test_every_observed_dependency_is_in_the_lineage(root: Path, sql: str) -> None:
    (root / "views" / "v.sql").write_text(sql)
    view = Project.load(root).plan()["v"]
    lineage = view.lineage
    assert lineage is not None
    is_from_plan = view.unplanned is None and "explode" not in sql
    assert lineage.origin is (LineageOrigin.PLAN if is_from_plan else LineageOrigin.TEXT)
    traced = {column.name: {*column.sources, *lineage.rows} for column in lineage.columns}
    seen = changes(sql)
    assert traced.keys() == seen.keys()
    assert {name: seen[name] - traced[name] for name in seen} == {name: set() for name in seen}
    needed = {f"{relation}.{c}" for relation, columns in lineage.required.items() for c in columns}
    assert set().union(*seen.values()) <= needed


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        ("SELECT id, city AS c FROM orders", {"id": "orders.id", "c": "orders.city"}, ""),
        (
            "SELECT amount + customer AS s, 1 AS one FROM orders WHERE city = 'Bern'",
            {"s": "orders.amount orders.customer", "one": ""},
            "orders.city",
        ),
        (
            "SELECT city AS c, explode(tags) AS t FROM orders",
            {"c": "orders.city", "t": "orders.tags"},
            "orders.tags",
        ),
        (
            "SELECT name, transform(tags, t -> t) AS t FROM orders JOIN customers USING (id)",
            {"name": "customers.name", "t": "orders.tags"},
            "customers.id orders.id",
        ),
    ],
)
def test_the_lineage_of_a_simple_view_is_exact(
    root: Path, sql: str, columns: dict[str, str], rows: str
) -> None:
    (root / "views" / "v.sql").write_text(sql)
    lineage = Project.load(root).plan()["v"].lineage
    assert lineage is not None
    assert {c.name: " ".join(c.sources) for c in lineage.columns} == columns
    assert " ".join(lineage.rows) == rows


@pytest.mark.parametrize("materialise", ["none", "output"])
@pytest.mark.parametrize("first", ["amount * 2 AS twice", "cardinality(tags) AS twice"])
def test_lineage_reaches_the_sources_through_views(
    root: Path, tmp_path: Path, materialise: str, first: str
) -> None:
    folder = tmp_path / "project"
    (folder / "views").mkdir(parents=True)
    (folder / "lake").symlink_to(root / "lake")
    (folder / "headrace.toml").write_text((root / "headrace.toml").read_text())
    (folder / "views" / "a.sql").write_text(
        f"-- @materialise {materialise}\nSELECT city, {first} FROM orders WHERE id > 2"
    )
    (folder / "views" / "b.sql").write_text(
        "SELECT twice, transform(array(city), c -> c) AS t FROM a"
    )
    ancestry = Project.load(folder).plan().ancestry("b")
    assert ancestry is not None
    column = "orders.amount" if "amount" in first else "orders.tags"
    assert ancestry.columns == {"twice": (column,), "t": ("orders.city",)}
    assert ancestry.rows == ("orders.id",)


def test_a_report_has_unpushed_filters_and_the_columns_of_windows(root: Path) -> None:
    (root / "views" / "v.sql").write_text(
        "SELECT city, sum(amount) AS total, rank() OVER (PARTITION BY city ORDER BY sum(amount)) AS r "
        "FROM orders GROUP BY city, customer HAVING sum(amount) > 5"
    )
    lineage = Project.load(root).plan()["v"].lineage
    assert lineage is not None
    assert lineage.filters == ("(sum(amount) > 5)",)
    window = lineage.windows[0]
    assert (window.partition_by, window.order_by) == (("city",), ("sum(amount)",))
    assert lineage.required == {"orders": ("amount", "city", "customer")}
    kinds = {expression.kind.value for expression in lineage.expressions}
    assert kinds >= {"filter", "group", "aggregate", "window"}
    ranked = next(e for e in lineage.expressions if e.kind.value == "window")
    assert ranked.sources == ("orders.amount", "orders.city")


def test_a_report_writes_orders_frames_and_filters_as_the_query_does(root: Path) -> None:
    (root / "views" / "v.sql").write_text(
        "SELECT id, sum(amount) OVER (PARTITION BY city ORDER BY id DESC "
        "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS two, "
        "sum(amount) OVER (ORDER BY id NULLS LAST) AS running, max(amount) OVER () AS most, "
        "lag(amount) OVER (ORDER BY customer DESC NULLS FIRST, id) AS before "
        "FROM orders ORDER BY amount DESC, id LIMIT 3"
    )
    lineage = Project.load(root).plan()["v"].lineage
    assert lineage is not None
    assert {e.text for e in lineage.expressions if e.kind.value == "window"} == {
        "sum(amount) OVER (PARTITION BY city ORDER BY id DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "sum(amount) OVER (ORDER BY id NULLS LAST)",
        "max(amount) OVER ()",
        "lag(amount) OVER (ORDER BY customer DESC NULLS FIRST, id)",
    }
    assert [e.text for e in lineage.expressions if e.kind.value == "order"] == ["amount DESC", "id"]
    assert {window.order_by for window in lineage.windows} == {
        *(("id DESC",), ("id NULLS LAST",), (), ("customer DESC NULLS FIRST", "id"))
    }


def test_a_report_writes_the_filter_of_an_aggregate(root: Path) -> None:
    (root / "views" / "v.sql").write_text(
        "SELECT city, sum(amount) FILTER (WHERE id > 2) AS s FROM orders GROUP BY city"
    )
    lineage = Project.load(root).plan()["v"].lineage
    assert lineage is not None
    assert lineage.aggregates[0].measures == ("sum(amount) FILTER (WHERE (id > 2))",)


def test_the_command_says_why_a_planned_view_is_traced_from_its_text(root: Path) -> None:
    (root / "views" / "v.sql").write_text("SELECT id, explode(tags) AS tag FROM orders")
    shown = CliRunner().invoke(app, ["lineage", "v", str(root)])
    assert shown.exit_code == 0
    assert "from the text, which may name more than is needed: it generates rows" in " ".join(
        shown.output.split()
    )
