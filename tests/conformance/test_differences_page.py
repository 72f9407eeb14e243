"""The documentation page of differences matches the list it is generated from."""

import runpy
from pathlib import Path

from tests.conformance.fixture import read_json

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date() -> None:
    script = runpy.run_path(str(DOCS / "make_differences.py"))
    page = (DOCS / "reference" / "differences.md").read_text(encoding="utf-8")
    assert page == script["render"](read_json("deltalake_differences.json")), (
        "run docs/make_differences.py"
    )
