"""Elements of HTML and SVG. Text stays text: the standard library escapes it when it is written."""

from collections.abc import Iterable
from typing import TypeAlias
from xml.etree.ElementTree import Element, tostring

Child: TypeAlias = "Element | str"


def element(tag: str, *children: Child, **attributes: str | int) -> Element:
    """An element; `class_` stands for `class`, and other underscores for dashes."""
    made = Element(tag, {k.rstrip("_").replace("_", "-"): str(v) for k, v in attributes.items()})
    add(made, *children)
    return made


def add(parent: Element, *children: Child) -> None:
    """Put children behind those that are there."""
    for child in children:
        if not isinstance(child, str):
            parent.append(child)
        elif len(parent):
            parent[-1].tail = (parent[-1].tail or "") + child
        else:
            parent.text = (parent.text or "") + child


def markup(made: Element) -> str:
    """The element as HTML."""
    return tostring(made, encoding="unicode", method="html")


def table(heads: Iterable[str], rows: Iterable[Element]) -> Element:
    """A table that scrolls by itself."""
    head = element("thead", element("tr", *(element("th", name) for name in heads)))
    return element("div", element("table", head, element("tbody", *rows)), class_="scroll")
