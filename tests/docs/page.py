"""The pages of the documentation, taken apart: their code blocks, links and headings.

A block below the comment `<!-- run -->` must run. A `text` block right below a Python one is what
it prints; in a `console` block the lines after a command are. `...` stands for anything.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md"))]

_RUN = "<!-- run -->\n"
_FENCE = re.compile(
    r"(?P<run><!-- run -->\n)?^```(?P<language>[^\n]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)
_API = re.compile(r"^::: (?P<name>[\w.]+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """Code that must run, and what it prints if the page tells."""

    language: str
    body: str
    output: str | None = None
    line: int


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command line of a console block, and what it prints if the page tells."""

    words: str
    output: str | None


def runnable(page: Path) -> Iterator[Block]:
    """The blocks that are marked as runnable, in order."""
    text = page.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    for i, fence in enumerate(fences):
        if not fence["run"]:
            continue
        after = fences[i + 1] if i + 1 < len(fences) else None
        below = after is not None and not text[fence.end() : after.start()].strip()
        printed = after is not None and below and after["language"] == "text"
        yield Block(
            language=fence["language"],
            body=fence["body"],
            output=after["body"] if after is not None and printed else None,
            line=text.count("\n", 0, fence.start("body")) + 1,
        )


def marks(page: Path) -> int:
    """How often a page says that a block must run."""
    return page.read_text(encoding="utf-8").count(_RUN)


def commands(block: Block) -> Iterator[Command]:
    """The command lines of a console block."""
    for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        words, _, output = part.partition("\n")
        yield Command(words=words, output=output or None)


def links(page: Path) -> list[str]:
    """Where a page leads to, within this repository."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [match["target"] for match in _LINK.finditer(text)]
    return [target for target in targets if "://" not in target]


def anchors(page: Path) -> set[str]:
    """The places of a page that a link may name."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(match["title"]) for match in _HEADING.finditer(text)} | {
        match["name"] for match in _API.finditer(text)
    }


def slug(title: str) -> str:
    """The anchor of a heading, as the site generator and code hosts make it."""
    kept = re.sub(r"[^\w\s-]", "", title).strip().lower()
    return re.sub(r"[\s]+", "-", kept)
