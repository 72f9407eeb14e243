"""The page in a real browser. Debian's package is called chromium."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from headrace.pipeline.page.project import project_page
from tests.pipeline.page.project import write_project
from tests.pipeline.page.test_page import EVIL, evil_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the PATH")


def opened(page: str, folder: Path, *, address: str = "") -> str:
    """What the document is after the page's script has run; the script must not complain."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [
        str(CHROMIUM),
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}"),
        *("--virtual-time-budget=2000", "--dump-dom", f"{file.as_uri()}{address}"),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    return done.stdout


def shown(document: str) -> set[str]:
    """The names in the boxes that are not hidden."""
    boxes = re.findall(r'<g class="node [^>]*>.*?</g>', document, re.DOTALL)
    visible = [box for box in boxes if "hidden" not in box.partition(">")[0]]
    return {name for box in visible for name in re.findall(r'class="name"[^>]*>([^<]*)<', box)}


def test_a_small_project_opens_with_its_whole_graph(tmp_path: Path) -> None:
    page = project_page(write_project(tmp_path / "shop"))
    assert shown(opened(page, tmp_path)) == {"orders", "customers", "sales", "best"}


def test_a_large_project_opens_around_what_the_address_names(tmp_path: Path) -> None:
    chain = {
        f"step{i:03}": f"SELECT * FROM {f'step{i - 1:03}' if i else 'orders'}" for i in range(80)
    }
    page = project_page(write_project(tmp_path / "shop", chain))
    document = opened(page, tmp_path, address="#step040")
    assert shown(document) == {"step038", "step039", "step040", "step041", "step042"}
    assert re.search(r'<aside id="panel".*?<h2>step040</h2>', document, re.DOTALL)


def test_what_an_author_writes_is_never_run(tmp_path: Path) -> None:
    document = opened(evil_page(tmp_path / "shop"), tmp_path, address="#evil")
    panel = re.search(r'<aside id="panel".*?</aside>', document, re.DOTALL)
    assert panel is not None
    assert EVIL.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in panel[0]
    assert "<img" not in document
    assert shown(document) == {"orders", "customers", "sales", "best", "evil"}
