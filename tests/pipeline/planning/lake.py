"""A lake of two empty tables with columns of many types, and the plans of views over it."""

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from headrace.pipeline import Project, ViewPlan
from tests.pipeline.shop import replace_views

SCHEMA = pa.schema(
    [
        pa.field("Id", pa.int32()),
        pa.field("s", pa.string()),
        pa.field("d", pa.date32()),
        pa.field("ts", pa.timestamp("us", "UTC")),
        pa.field("ntz", pa.timestamp("us")),
        pa.field("dec", pa.decimal128(12, 2)),
        pa.field("f", pa.float64()),
        pa.field("b", pa.bool_()),
        pa.field("st", pa.struct([("a", pa.int32())])),
        pa.field("l", pa.list_(pa.string())),
    ]
)
MANIFEST = """\
[project]
name = "p"
[settings]
time_zone = "{zone}"
[sources.t]
uri = "lake/t"
[sources.u]
uri = "lake/u"
[variables]
day = 2024-05-01
"""


def write_lake(root: Path) -> Path:
    for name in ("t", "u"):
        write_deltalake(root / "lake" / name, pa.Table.from_pylist([], SCHEMA))
    return root


def plan(lake: Path, *, zone: str = "UTC", **views: str) -> dict[str, ViewPlan]:
    (lake / "headrace.toml").write_text(MANIFEST.format(zone=zone))
    replace_views(lake, views)
    return dict(Project.load(lake).plan().views)


def where(lake: Path, condition: str, *, zone: str = "UTC") -> str | None:
    return plan(lake, zone=zone, v=f"SELECT s FROM t WHERE {condition}")["v"].unit("t").where
