import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.pipeline import Project
from headrace.pipeline.page.mermaid import mermaid
from headrace.pipeline.page.project_page import project_page
from headrace.pipeline.page.sql_text import sql_element
from headrace.pipeline.page.story import Status
from headrace.pipeline.page.view_graph import Graph, Node
from tests.pipeline.page.evil_page import evil_page
from tests.pipeline.page.project import write_project


class Tags(HTMLParser):
    """Collects the elements of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_text_of_the_author_never_becomes_an_element(tmp_path: Path) -> None:
    tags = Tags(evil_page(tmp_path / "shop")).tags
    assert [attributes for tag, attributes in tags if tag == "script"] == [
        {"id": "data", "type": "application/json"},
        {},
    ]
    assert not [tag for tag, _ in tags if tag == "img"]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]


def test_the_policy_allows_only_the_pages_own_script_and_style(tmp_path: Path) -> None:
    page = project_page(write_project(tmp_path / "shop"))
    policy = next(
        attributes["content"]
        for tag, attributes in Tags(page).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[-1]
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)[0]
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    )


def test_the_page_refers_to_no_network_address(tmp_path: Path) -> None:
    page = project_page(write_project(tmp_path / "shop"))
    assert set(re.findall(r"https?://[\w./]+", page)) == {"http://www.w3.org/2000/svg"}


def test_a_view_shows_its_columns_promises_and_origins(tmp_path: Path) -> None:
    page = project_page(write_project(tmp_path / "shop"))
    panel = next(part for part in page.split("<template")[1:] if "<h2>sales</h2>" in part)
    text = re.sub(r"<[^>]+>", " ", panel)
    assert re.search(r"total\s+DECIMAL\(28,2\)\s+DECIMAL\(28,2\)\s+orders\s*\.amount", text)
    assert "Contract: ADDITIVE" in text
    assert re.search(r"read by\s+best", text)


def test_a_query_is_coloured_without_changing_a_character() -> None:
    sql = "-- why\nSELECT 'a' AS x, 1.5, `b c` /* ? */\nFROM t -- end"
    assert "".join(sql_element(sql).itertext()) == sql
    assert [span.text for span in sql_element(sql).iter("span")] == [
        *("-- why\n", "SELECT", "'a'", "AS", "1.5", " /* ? */\n", "FROM", " -- end")
    ]


def test_text_that_is_not_sql_is_shown_unchanged() -> None:
    assert "".join(sql_element("SELECT 'open").itertext()) == "SELECT 'open"


def test_the_page_has_the_position_of_every_node_around_every_other(tmp_path: Path) -> None:
    page = project_page(write_project(tmp_path / "shop"))
    match = re.search(r'<script id="data" type="application/json">(.*?)</script>', page)
    assert match is not None
    data = msgspec.json.decode(match[1])
    assert data["names"] == ["customers", "orders", "sales", "best"]
    assert [len(near["nodes"]) for near in data["near"]] == [2, 3, 3, 4]
    assert data["words"][2] == "sales what was sold, by customer. customer total"


def test_mermaid_labels_cannot_end_early() -> None:
    graph = Graph(nodes={'a"]': Node(name='a"]', status=Status.RAN)}, edges=())
    assert mermaid(graph).splitlines()[1] == '  n0["a#34;#93;"]:::ran'


def test_mermaid_shows_who_reads_whom(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop")
    result = CliRunner().invoke(app, ["docs", str(root), "--format", "mermaid"])
    assert result.output.splitlines()[:8] == [
        "flowchart LR",
        '  n0(["customers"]):::source',
        '  n1(["orders"]):::source',
        '  n2["sales"]:::never-run',
        '  n3["best"]:::never-run',
        "  n1 --> n2",
        "  n0 --> n3",
        "  n2 --> n3",
    ]


def test_the_command_prints_the_path_of_the_page(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop")
    result = CliRunner().invoke(app, ["docs", str(root)])
    assert result.exit_code == 0
    assert result.output.startswith(f"wrote {root / 'headrace.html'}")
    assert (root / "headrace.html").read_text().startswith("<!doctype html>")


def test_a_folder_without_a_project_is_an_error_with_its_status(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["docs", str(tmp_path)]).exit_code == 8


@pytest.mark.parametrize("is_planned", [False, True])
def test_a_notebook_gets_a_picture_without_a_script(tmp_path: Path, *, is_planned: bool) -> None:
    project = Project.load(write_project(tmp_path / "shop"))
    html = project.plan()._repr_html_() if is_planned else project._repr_html_()
    tags = [tag for tag, _ in Tags(html).tags]
    assert "script" not in tags
    assert tags.count("path") == 3
    assert "2 views, 2 sources" in html


def test_the_page_shows_the_status_of_views_and_what_a_run_would_do(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop")
    Project.load(root).run(engine="datafusion").check()
    text = re.sub(r"<[^>]+>", " ", project_page(root))
    assert "1 ran" in text
    assert "1 in place" in text
    assert "A run now would skip it" in text
    sales = root / "views" / "sales.sql"
    sales.write_text(sales.read_text().replace("sum(amount)", "max(amount)"))
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", project_page(root)))
    assert "A run now would compute it: `sum` became `max` after `select customer ,`" in text
