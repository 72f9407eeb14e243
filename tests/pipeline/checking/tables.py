"""Views with one mistake each, and views that only look wrong, over two small tables.

A `^` marks a mistake, directly before the position where it must be reported.
"""

# ruff: noqa: E501, ISC004  (a table reads best with one view a line)

from pathlib import Path

import msgspec
import pyarrow as pa
from deltalake import write_deltalake

ORDERS = pa.schema(
    [
        ("id", pa.int64()),
        ("customer", pa.int64()),
        ("amount", pa.decimal128(12, 2)),
        ("price", pa.float64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("city", pa.string()),
        ("paid", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("items", pa.list_(pa.struct([("sku", pa.string()), ("qty", pa.int32())]))),
        ("props", pa.map_(pa.string(), pa.string())),
        ("address", pa.struct([("street", pa.string()), ("zip", pa.int32())])),
    ]
)
CUSTOMERS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("city", pa.string())])

_MANIFEST = """\
[project]
name = "checked"
[sources.orders]
uri = "lake/orders"
[sources.customers]
uri = "lake/customers"
[settings]
time_zone = "UTC"
[variables]
first_day = "2026-01-01"
"""


def write_project(root: Path) -> Path:
    """Write a project without views."""
    (root / "views").mkdir(parents=True)
    (root / "headrace.toml").write_text(_MANIFEST)
    for name, schema in (("orders", ORDERS), ("customers", CUSTOMERS)):
        write_deltalake(str(root / "lake" / name), pa.Table.from_pylist([], schema=schema))
    return root


class Typo(msgspec.Struct, frozen=True):
    """SQL with a mistake, and the name that was probably meant."""

    marked: str
    nearest: str | None

    @property
    def sql(self) -> str:
        """The SQL without the mark."""
        return self.marked.replace("^", "", 1)

    @property
    def place(self) -> tuple[int, int]:
        """The line and column of the mistake, both counted from 1."""
        before = self.marked[: self.marked.index("^")]
        return before.count("\n") + 1, len(before) - before.rfind("\n")


LAMBDA = "exists(tags, x -> x = 'a')"
"""A condition that DataFusion cannot plan."""

TYPOS = [
    # columns, in views that DataFusion can plan
    Typo("SELECT ^amuont FROM orders", "amount"),
    Typo("SELECT id,\n       ^custmer\nFROM orders", "customer"),
    Typo("SELECT id FROM orders WHERE ^ctiy = 'Bern'", "city"),
    Typo("SELECT o.id FROM orders o JOIN customers c ON o.customer = ^c.idd", "id"),
    Typo("SELECT city, sum(amount) AS s FROM orders GROUP BY ^cty", "city"),
    Typo("SELECT city, sum(amount) AS s FROM orders GROUP BY city HAVING ^amonut > 1", "amount"),
    Typo("SELECT id FROM orders ORDER BY ^amoutn", "amount"),
    Typo("WITH a AS (SELECT id AS k FROM orders) SELECT ^kk FROM a", "k"),
    Typo("SELECT id FROM orders WHERE customer IN (SELECT ^idd FROM customers)", "id"),
    Typo("SELECT sum(amount) OVER (PARTITION BY ^ctiy) AS s FROM orders", "city"),
    Typo("SELECT ^address.zipp FROM orders", "zip"),
    Typo("SELECT * EXCEPT (^ctiy) FROM orders", "city"),
    Typo("SELECT ^oo.* FROM orders o", "o"),
    Typo("SELECT ^ordrs.id FROM orders", "orders"),
    Typo("SELECT ^id FROM orders o JOIN customers c ON o.customer = c.id", None),
    # columns, in views that DataFusion cannot plan
    Typo("SELECT explode(tags) AS tag, ^amuont FROM orders", "amount"),
    Typo("SELECT tag FROM orders LATERAL VIEW explode(^tgas) t AS tag", "tags"),
    Typo("SELECT ^tga FROM orders LATERAL VIEW explode(tags) t AS tag", "tag"),
    Typo("SELECT ^item.skuu FROM orders LATERAL VIEW explode(items) t AS item", "sku"),
    Typo("SELECT transform(tags, x -> concat(x, ^ctiy)) AS y FROM orders", "city"),
    Typo("SELECT transform(tags, elem -> concat(^elme, 'x')) AS y FROM orders", None),
    Typo("SELECT ^c.nmae, explode(tags) AS t FROM orders o JOIN customers c ON o.id = c.id", "name"),
    Typo(f"SELECT o.id FROM orders o JOIN customers c ON o.id = ^c.idd WHERE {LAMBDA}", "id"),
    Typo(f"SELECT id FROM orders WHERE {LAMBDA} AND ^paidd", "paid"),
    Typo("SELECT city, collect_list(amount) AS l FROM orders GROUP BY ^cty", "city"),
    Typo("SELECT city, max_by(id, at) AS l FROM orders GROUP BY city ORDER BY ^lst, city", None),
    Typo("WITH a AS (SELECT city, explode(tags) AS tag FROM orders) SELECT ^tagg FROM a", "tag"),
    Typo(f"SELECT id FROM orders WHERE customer IN (SELECT ^idd FROM customers) AND {LAMBDA}", "id"),
    Typo("SELECT rank() OVER (PARTITION BY ^ctiy ORDER BY at) AS r, explode(tags) FROM orders", "city"),
    Typo("SELECT ^address.stret, filter(tags, x -> x > 'a') AS f FROM orders", "street"),
    Typo("SELECT ^items[0].qtty FROM orders", "qty"),
    Typo("SELECT sum(amount) FILTER (WHERE ^padi) OVER (ORDER BY at) AS s, explode(tags) FROM orders", "paid"),
    Typo("SELECT o.id, b FROM orders o, LATERAL (SELECT ^o.amuont + 1 AS b)", "amount"),
    Typo("SELECT orders.id FROM orders JOIN customers USING (^ctiy)", "city"),
    Typo("SELECT explode(tags) AS t FROM orders UNION ALL SELECT ^nme FROM customers", "name"),
    # relations
    Typo("SELECT id FROM ^ordres", "orders"),
    Typo("SELECT o.id FROM orders o JOIN ^custmers c ON o.customer = c.id", "customers"),
    Typo("WITH big AS (SELECT id FROM orders) SELECT id FROM ^orderss", "orders"),
    # functions, their arguments, and types
    Typo("SELECT if(^amount > 1, id) AS x FROM orders", None),
    Typo("SELECT substring(^city) AS x FROM orders", None),
    Typo("SELECT substring(^city, 1, 2, 3) AS x FROM orders", None),
    Typo(f"SELECT if(^amount > 1, id) AS x FROM orders WHERE {LAMBDA}", None),
    Typo("SELECT ^substring() AS x FROM orders", None),
    Typo("SELECT ^substring(city, 1, 2, 3, 4) AS x FROM orders", None),
    Typo("SELECT if(paid, ^trim(city, 'x', 'y'), city) AS x FROM orders", None),
    Typo("SELECT id, ^overlay(city, 'x') AS x FROM orders", None),
    Typo("SELECT id,\n  ^if(paid) AS x FROM orders", None),
    Typo("SELECT id, ^position('a') AS x FROM orders", None),
    Typo("SELECT upper(city) AS x, ^substring() AS y FROM orders", None),
    Typo("SELECT ^date_trunc() AS x FROM orders", None),
    Typo("SELECT ^uper(city) AS u FROM orders", "upper"),
    Typo("SELECT explode(tags) AS t, ^lenght(city) AS u FROM orders", "length"),
    Typo("SELECT ^upper(city, 1) AS u FROM orders", None),
    Typo("SELECT ^substring_index(city) AS u FROM orders", None),
    Typo("SELECT explode(tags) AS t, ^date_format(at) AS u FROM orders", None),
    Typo("SELECT ^sum(amount, id) AS u FROM orders", None),
    Typo("SELECT ^upper(tags) AS u FROM orders", None),
    Typo("SELECT explode(tags) AS t, ^year(tags) AS u FROM orders", None),
    Typo("SELECT ^id + tags AS u FROM orders", None),
    Typo("SELECT explode(tags) AS t FROM orders WHERE ^amount AND paid", None),
    Typo("SELECT id FROM orders WHERE ^id", None),
    Typo("SELECT id FROM orders ORDER BY ^3", None),
    Typo("SELECT CAST(id AS ^BIGNIT) AS u FROM orders", "BIGINT"),
    # syntax
    Typo("^SELEC id FROM orders", "SELECT"),
    Typo("SELECT id FROM orders ^WHER id = 1", "WHERE"),
    Typo("SELECT id^, FROM orders", None),
    Typo("SELECT ^:frist_day AS u", "first_day"),
    # headers
    Typo("-- @materialise ^outptu\nSELECT id FROM orders", "output"),
    Typo("-- ^@materalise output\nSELECT id FROM orders", "@materialise"),
    Typo("-- @contract ^STRCT (id BIGINT)\nSELECT id FROM orders", "STRICT"),
    Typo("-- @materialise output\n-- @partition_by ^ctiy\nSELECT id, city FROM orders", "city"),
    Typo("-- @materialise output\n-- @write merge\n-- @keys ^idd\nSELECT id FROM orders", "id"),
    Typo("-- @contract (id BIGINT,\n--     ^ctiy STRING)\nSELECT id, city FROM orders", "city"),
    Typo("-- @contract (id BIGINT, ^tga STRING)\nSELECT id, explode(tags) AS tag FROM orders", "tag"),
]  # fmt: skip

UNUSUAL = [
    "SELECT id, amount AS a, a * 2 AS b FROM orders",
    "SELECT tag, count(*) AS n FROM orders LATERAL VIEW explode(tags) t AS tag GROUP BY tag",
    "SELECT id, t.tag FROM orders LATERAL VIEW OUTER explode(tags) t AS tag",
    "SELECT id, pos, tag FROM orders LATERAL VIEW posexplode(tags) t AS pos, tag",
    "SELECT id, col FROM orders LATERAL VIEW explode(tags) t",
    "SELECT k, v FROM orders LATERAL VIEW explode(props) p AS k, v",
    "SELECT key, value FROM orders LATERAL VIEW explode(props) p",
    "SELECT sku, qty FROM orders LATERAL VIEW inline(items) i",
    "SELECT inline(items) FROM orders",
    "SELECT transform(items, i -> i.sku) AS s, filter(tags, (t, i) -> i > 0) AS f FROM orders",
    "SELECT aggregate(items, 0, (acc, i) -> acc + i.qty, acc -> acc * 2) AS g FROM orders",
    "SELECT address.*, props.anything, props['x'] AS p, items.sku, items[0].qty FROM orders",
    "SELECT stack(2, 1, 'a', 2, 'b') AS (n, s)",
    "SELECT * FROM (SELECT city, amount FROM orders) PIVOT (sum(amount) FOR city IN ('B' AS b))",
    "SELECT b FROM (SELECT city, amount FROM orders) PIVOT (sum(amount) FOR city IN ('B' AS b))",
    "SELECT n, v FROM (SELECT id, customer FROM orders) UNPIVOT (v FOR n IN (id, customer))",
    "SELECT r.id + 1 AS n FROM range(1, 5) AS r",
    "SELECT x FROM orders, LATERAL explode(tags) AS e(x)",
    "SELECT o.id, b FROM orders o, LATERAL (SELECT o.amount + 1 AS b)",
    "SELECT c.id, s.total FROM customers c LEFT JOIN LATERAL "
    "(SELECT sum(amount) AS total FROM orders WHERE customer = c.id) s",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r",
    "SELECT city, sum(amount) AS total FROM orders GROUP BY city HAVING total > 1 ORDER BY total",
    "SELECT city, grouping(city) AS g FROM orders GROUP BY GROUPING SETS ((city), ())",
    "SELECT city, paid, grouping_id() AS g FROM orders GROUP BY CUBE (city, paid)",
    "SELECT city, sum(amount) AS s FROM orders GROUP BY ROLLUP (city) ORDER BY ALL",
    "SELECT upper(city) AS city, count(*) AS n FROM orders GROUP BY 1 ORDER BY 2",
    "SELECT timestampadd(MONTH, 1, at) AS a, timestampdiff(HOUR, at, at) AS b FROM orders",
    "SELECT dateadd(DAY, 3, day) AS c, datediff(DAY, day, day) AS d FROM orders",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) AS m FROM orders",
    "SELECT listagg(city, ',') WITHIN GROUP (ORDER BY city) AS l FROM orders",
    "SELECT any_value(city, true) AS b, first(city, true) AS f FROM orders",
    "SELECT first_value(city, true) OVER (ORDER BY id) AS c FROM orders",
    "SELECT mask(lowerChar => 'x', str => city) AS m FROM orders",
    "SELECT named_struct('a', 1, 'b', city).b AS x, struct(id AS k, city).k AS y FROM orders",
    "SELECT o.id FROM orders o LEFT SEMI JOIN customers c ON o.customer = c.id",
    "SELECT id, name FROM orders NATURAL JOIN customers",
    "SELECT id, orders.city, customers.city AS other FROM orders JOIN customers USING (id)",
    "SELECT id FROM orders WHERE (customer, city) IN (SELECT id, city FROM customers)",
    "SELECT id, (SELECT max(c.name) FROM customers c WHERE c.id = orders.customer) AS n FROM orders",
    "SELECT `count(1)` FROM (SELECT count(*) FROM orders)",
    "SELECT id::string || '-' || city AS k, try_cast(city AS INT) AS t FROM orders",
    "SELECT sum(amount) FILTER (WHERE paid) OVER w AS s FROM orders WINDOW w AS (PARTITION BY city)",
    "SELECT * EXCEPT (tags, items) FROM orders",
    "SELECT col1, col2 FROM VALUES (1, 'x'), (2, 'y')",
    "SELECT /*+ BROADCAST(c) */ o.id FROM orders o JOIN customers c ON o.customer = c.id",
    "SELECT ID, Orders.CITY, ADDRESS.Street FROM Orders",
    "SELECT overlay(city PLACING 'x' FROM 1) AS o, position('a' IN city) AS p FROM orders",
    "SELECT map_filter(props, (k, v) -> v = 'a') AS m, exists(tags, t -> t = city) AS e FROM orders",
    "SELECT array_sort(tags, (l, r) -> CASE WHEN l < r THEN -1 ELSE 1 END) AS s FROM orders",
    "(SELECT id FROM orders) EXCEPT ALL (SELECT id FROM customers)",
    "SELECT city, collect_set(struct(id, amount)) AS s FROM orders GROUP BY ALL",
    "SELECT id, json_tuple('{\"a\": 1}', 'a', 'b') AS (a, b) FROM orders",
    "SELECT from_json('{\"a\":1}', 'a INT').a AS a",
    "SELECT count(DISTINCT city, paid) AS c, max_by(city, amount) AS m FROM orders",
    "SELECT INTERVAL '1' DAY + at AS i, at + INTERVAL 1 DAY 2 HOURS AS j FROM orders",
    "FROM orders |> WHERE paid |> SELECT id, city",
    "SELECT id, posexplode(tags) AS (p, t) FROM orders",
    "SELECT col FROM (SELECT explode(tags) FROM orders)",
    "SELECT * FROM (SELECT id, city FROM orders) AS t(a, b) WHERE t.a > 1 AND b = 'x'",
    "SELECT parse_json('{\"a\":1}'):a::int AS a",
    "SELECT window.start AS s, count(*) AS n FROM orders GROUP BY window(at, '5 minutes')",
    "SELECT session_window.start AS s FROM orders GROUP BY session_window(at, '5 minutes')",
    "SELECT city, any(paid) AS a, some(paid) AS s, every(paid) AS e FROM orders GROUP BY city",
    "SELECT id FROM orders WHERE city LIKE ANY ('a%', 'b%') AND city RLIKE 'x'",
    "SELECT zip_with(tags, tags, (a, b) -> concat(a, b)) AS z FROM orders",
    "SELECT city AS id FROM orders ORDER BY orders.id",
    "-- @contract (x DOUBLE)\nSELECT 1/3 AS x",
    "-- @contract (x DOUBLE, t STRING)\nSELECT id/3 AS x, explode(tags) AS t FROM orders",
    "-- @contract (x DECIMAL(8,6))\nSELECT 1.0/3 AS x",
]
