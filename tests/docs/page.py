"""Parse documentation pages into code blocks, links and headings.

A block below the comment `<!-- run -->` must run. A `text` block directly below a Python block is
its output; in a `console` block, the lines after a command are. `...` matches anything.
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
    """Code that must run, and its output if the page shows it."""

    language: str
    body: str
    output: str | None = None
    line: int


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of a console block, and its output if the page shows it."""

    words: str
    output: str | None


def runnable(page: Path) -> Iterator[Block]:
    """Yield the blocks that are marked as runnable, in order."""
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
    """Return how often a page marks a block as runnable."""
    return page.read_text(encoding="utf-8").count(_RUN)


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a console block."""
    for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        words, _, output = part.partition("\n")
        yield Command(words=words, output=output or None)


def links(page: Path) -> list[str]:
    """Return a page's link targets within this repository."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [match["target"] for match in _LINK.finditer(text)]
    return [target for target in targets if "://" not in target]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page that links may use."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(match["title"]) for match in _HEADING.finditer(text)} | {
        match["name"] for match in _API.finditer(text)
    }


def slug(title: str) -> str:
    """Return the anchor of a heading, as the site generator and code hosts build it."""
    words = re.sub(r"[^\w\s-]", "", title).strip().lower()
    return re.sub(r"[\s]+", "-", words)
