"""The documentation page of types matches the cases it is generated from."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date() -> None:
    script = runpy.run_path(str(DOCS / "make_types.py"))
    page = (DOCS / "reference" / "types.md").read_text(encoding="utf-8")
    assert page == script["render"](), "run docs/make_types.py"
