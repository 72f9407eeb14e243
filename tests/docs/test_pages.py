"""The documentation is accurate: it is up to date, its links resolve, and its code runs."""

import contextlib
import importlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import Any

import pytest
import typer

from headrace import errors
from headrace.cli.main import app
from tests.command import headrace
from tests.docs.lake import write_demo_lake
from tests.docs.page import DOCS, PAGES, ROOT, anchors, commands, links, marks, runnable

RUNNABLE = [page for page in PAGES if marks(page)]
SOURCE = ROOT / "src" / "headrace"
FIRST_PAGES = ("README.md", "index.md")
"""Pages whose commands all run in a shell, as a newcomer runs them."""


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _script(name: str) -> dict[str, Callable[..., Any]]:
    return runpy.run_path(str(DOCS / name))


def test_the_page_of_errors_is_up_to_date() -> None:
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    assert page == _script("make_errors.py")["render"](), "run docs/make_errors.py"


def test_the_page_of_errors_has_every_code() -> None:
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    tree = re.findall(r"Error +([A-Z_]{2,})$", errors.__doc__ or "", re.MULTILINE)
    assert [code for code in tree if f"| `{code}` |" not in page] == []


def test_the_page_of_functions_is_up_to_date() -> None:
    page = (DOCS / "reference" / "functions.md").read_text(encoding="utf-8")
    assert page == _script("make_functions.py")["render"](), "run docs/make_functions.py"


def test_the_page_of_keys_is_up_to_date() -> None:
    page = (DOCS / "reference" / "keys.md").read_text(encoding="utf-8")
    assert page == _script("make_keys.py")["render"](), "run docs/make_keys.py"


def test_the_page_of_the_catalogue_is_up_to_date() -> None:
    page = (DOCS / "reference" / "catalogue.md").read_text(encoding="utf-8")
    assert page == _script("make_catalogue.py")["render"](), "run docs/make_catalogue.py"


def test_the_page_of_rules_is_up_to_date() -> None:
    script = _script("make_rules.py")
    page = (DOCS / "reference" / "delta-rules.md").read_text(encoding="utf-8")
    assert page == script["render"](script["read_groups"](), script["find_tests"]()), (
        "run docs/make_rules.py"
    )


def test_every_rule_names_existing_modules() -> None:
    rules = [rule for group in _script("make_rules.py")["read_groups"]() for rule in group["rule"]]
    assert [rule["number"] for rule in rules] == list(range(1, 36))
    assert [path for rule in rules for path in rule["where"] if not (SOURCE / path).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_no_link_is_dead(page: Path) -> None:
    dead = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert set(re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)) == pages


@pytest.mark.parametrize("package", ["headrace", "headrace.spark", "headrace.pipeline"])
def test_every_public_name_is_in_the_reference(package: str) -> None:
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")]
    documented = {
        name for page in pages for name in re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)
    }
    public = [name for name in importlib.import_module(package).__all__ if name != "__version__"]
    moved = {name.rpartition(".")[2] for name in documented if name.startswith("headrace.scan.")}
    assert [n for n in public if f"{package}.{n}" not in documented and n not in moved] == []


def test_every_make_target_is_documented() -> None:
    verbs = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [verb for verb in verbs if f"| `make {verb}` |" not in page] == ["help"]


def _options() -> dict[str, set[str]]:
    """Return the options of each command; those of the program itself are under its name."""
    group: Any = typer.main.get_command(app)
    everywhere = {"--help"}
    options = {"headrace": everywhere | {o for p in group.params for o in p.opts}}
    for name, command in group.commands.items():
        options[name] = everywhere | {
            o for p in command.params for o in (*p.opts, *p.secondary_opts)
        }
    return options


def _mentioned(text: str) -> Iterator[tuple[str, str]]:
    """Yield the options that a page mentions, in a command or alone as code."""
    for line in re.findall(r"(?:^\$ |`)headrace ([^`\n|;>]*)", text, re.MULTILINE):
        unquoted = re.sub(r"\"[^\"]*\"|'[^']*'", "", line)
        verb = re.match(r"[a-z]+", unquoted)
        for option in re.findall(r"(?<!\S)(--?[a-z][\w-]*)", unquoted):
            yield verb[0] if verb else "headrace", option
    for option in re.findall(r"`(--?[a-z][\w-]*)[^`]*`", text):
        yield "any", option


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "CONTRIBUTING.md"], ids=_name)
def test_every_option_exists(page: Path) -> None:
    options = _options()
    options["any"] = set().union(*options.values())
    text = page.read_text(encoding="utf-8")
    assert [m for m in _mentioned(text) if m[1] not in options.get(m[0], set())] == []


def test_the_check_of_options_reports_an_unknown_one() -> None:
    mentioned = set(
        _mentioned("$ headrace files t --nope -x\n`--never` and `headrace snapshot --odd`")
    )
    assert mentioned >= {
        ("files", "--nope"),
        ("files", "-x"),
        ("any", "--never"),
        ("snapshot", "--odd"),
    }


@pytest.mark.parametrize("page", RUNNABLE, ids=_name)
def test_every_example_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if "headrace.spark" in page.read_text(encoding="utf-8"):
        request.getfixturevalue("spark")  # so that code that needs a session uses that of the tests
    write_demo_lake(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("COLUMNS", "200")
    blocks = list(runnable(page))
    assert len(blocks) == marks(page), "a comment that marks a block stands right above it"
    names: dict[str, Any] = {"__name__": "guide"}
    for block in blocks:
        where = f"{_name(page)}:{block.line}"
        if block.language == "python":
            printed = _run_python(block.body, names, where)
            assert block.output is None or _same(block.output, printed), (where, printed)
            continue
        for command in commands(block):
            result = _run_command(command.words, is_forked=page.name not in FIRST_PAGES)
            assert result.returncode == 0, (where, result.stderr)
            printed = result.stdout if command.output is None else result.stderr + result.stdout
            assert command.output is None or _same(command.output, printed), (where, printed)


def _run_command(words: str, *, is_forked: bool) -> subprocess.CompletedProcess[str]:
    """Run a command of a page; in a shell if it is more than a plain call of `headrace`."""
    if is_forked and words.startswith("headrace ") and not set(words) & set("|;&<>$*?`~\n"):
        return headrace(*shlex.split(words)[1:])
    return subprocess.run(words, shell=True, check=False, capture_output=True, text=True)


def _run_python(code: str, names: dict[str, Any], where: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, where, "exec"), names)
    return printed.getvalue()


def _same(shown: str, printed: str) -> bool:
    return OutputChecker().check_output(shown, printed, ELLIPSIS | NORMALIZE_WHITESPACE)
