"""The examples in the Spark guides run, on the session of the tests."""

import contextlib
import io
import re
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace.spark
from tests.docs.lake import write_demo_lake
from tests.docs.page import DOCS

MARK = "<!-- run on spark -->"
BLOCK = re.compile(
    rf"{MARK}\n```python\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if MARK in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_runs(page: Path, spark: SparkSession, tmp_path: Path) -> None:
    table = write_demo_lake(tmp_path)
    headrace.spark.register(spark)
    names: dict[str, Any] = {"spark": spark, "headrace": headrace}
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == text.count(MARK), "the mark stands right above a block of Python"
    for block in blocks:
        # Spark's own processes do not follow a change of the working directory.
        code = block["code"].replace("demo-lake/events", str(table))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        shown = printed.getvalue()
        matches = OutputChecker().check_output(
            block["output"] or "", shown, ELLIPSIS | NORMALIZE_WHITESPACE
        )
        assert matches or block["output"] is None, (code, shown)
