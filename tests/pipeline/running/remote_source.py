"""A project on this disk that reads a table in a store."""

from pathlib import Path

from tests.emulator.place import Place

PROJECT = """
[project]
name = "remote"

[sources.orders]
uri = "{uri}"

[sources.orders.options]
endpoint_url = "{endpoint}"
aws_region = "us-east-1"
aws_access_key_id = "env:LAKE_KEY"
aws_secret_access_key = "env:LAKE_SECRET"
"""


def write_project(root: Path, uri: str, place: Place) -> Path:
    (root / "views").mkdir(parents=True)
    text = PROJECT.format(uri=uri, endpoint=place.options["endpoint_url"])
    (root / "headrace.toml").write_text(text)
    view = "-- @materialise output\nSELECT part, sum(n) AS total FROM orders GROUP BY part\n"
    (root / "views" / "totals.sql").write_text(view)
    return root
