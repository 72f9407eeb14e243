"""The page in a real browser."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.pipeline.page.project_page import project_page
from tests.pipeline.page.browser import CHROMIUM, Browser, running_browser
from tests.pipeline.page.evil_page import EVIL, evil_page
from tests.pipeline.page.project import write_project

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the PATH")

SHOWN = "[...document.querySelectorAll('.node:not([hidden]) .name')].map(n => n.textContent).sort()"
TITLE = "document.querySelector('#panel h2')?.textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Browser]]:
    """Return a function that opens a page; the browser must report no errors during the test."""

    def open_page(page: str, *, address: str = "") -> Browser:
        file = tmp_path / "page.html"
        file.write_text(page, encoding="utf-8")
        browser.complaints.clear()
        browser.open(file, address=address)
        return browser

    yield open_page
    browser.ask("0")  # makes sure that pending messages are read
    assert browser.complaints == []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    return project_page(write_project(tmp_path_factory.mktemp("small") / "shop"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    chain = {
        f"step{i:03}": f"SELECT * FROM {f'step{i - 1:03}' if i else 'orders'}" for i in range(80)
    }
    return project_page(write_project(tmp_path_factory.mktemp("large") / "shop", chain))


def test_a_small_project_opens_with_its_whole_graph(
    opened: Callable[..., Browser], small: str
) -> None:
    assert opened(small).ask(SHOWN) == ["best", "customers", "orders", "sales"]


def test_a_click_on_a_box_shows_its_view(opened: Callable[..., Browser], small: str) -> None:
    page = opened(small)
    page.click("document.querySelectorAll('.node')[2]")
    page.until(f"{TITLE} === 'sales'")
    assert page.ask("location.hash") == "#sales"
    assert "orders.amount" in page.ask("document.querySelector('#panel').textContent")


def test_a_large_project_opens_around_the_view_in_the_address(
    opened: Callable[..., Browser], large: str
) -> None:
    page = opened(large, address="#step040")
    assert page.ask(SHOWN) == ["step038", "step039", "step040", "step041", "step042"]
    assert page.ask(TITLE) == "step040"


def test_a_search_leads_to_the_result(opened: Callable[..., Browser], large: str) -> None:
    page = opened(large)
    page.click("document.getElementById('search')")
    page.type("p01")
    assert page.ask("[...document.querySelectorAll('#matches a')].map(a => a.textContent)") == [
        f"step{i:03}" for i in range(10, 20)
    ]
    page.press("Enter")
    page.until(f"{TITLE} === 'step010'")


def test_the_whole_of_a_large_graph_is_a_click_away(
    opened: Callable[..., Browser], large: str
) -> None:
    page = opened(large)
    page.click("document.getElementById('whole')")
    assert page.ask(f"{SHOWN}.length") == 81


def test_text_of_the_author_is_shown_and_never_executed(
    opened: Callable[..., Browser], tmp_path: Path
) -> None:
    page = opened(evil_page(tmp_path / "shop"), address="#evil")
    assert page.ask("document.querySelector('#panel .why').textContent") == EVIL
    assert page.ask("document.querySelectorAll('img').length") == 0


def test_the_check_of_browser_errors_detects_one(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
    file.write_text(f"{policy}<script>alert(1)</script>")
    browser.complaints.clear()
    browser.open(file)
    browser.ask("0")
    assert "Content Security Policy" in "".join(browser.complaints)
