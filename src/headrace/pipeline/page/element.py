"""Builds HTML and SVG from elements, and reads the style sheets and the script of the page.

The standard library escapes text when an element is serialised, so text is never markup.
"""

from collections.abc import Iterable
from importlib.resources import files
from typing import TypeAlias
from xml.etree.ElementTree import Element, tostring

Child: TypeAlias = "Element | str"


def element(tag: str, *children: Child, **attributes: str | int) -> Element:
    """Return an element; `class_` means `class`, and other underscores become dashes."""
    parent = Element(tag, {k.rstrip("_").replace("_", "-"): str(v) for k, v in attributes.items()})
    add(parent, *children)
    return parent


def add(parent: Element, *children: Child) -> None:
    """Append children to an element."""
    for child in children:
        if not isinstance(child, str):
            parent.append(child)
        elif len(parent):
            parent[-1].tail = (parent[-1].tail or "") + child
        else:
            parent.text = (parent.text or "") + child


def markup(root: Element) -> str:
    """Serialise an element as HTML."""
    return tostring(root, encoding="unicode", method="html")


def table(heads: Iterable[str], rows: Iterable[Element]) -> Element:
    """Return a table that scrolls independently of the page."""
    head = element("thead", element("tr", *(element("th", name) for name in heads)))
    return element("div", element("table", head, element("tbody", *rows)), class_="scroll")


def resource(name: str) -> str:
    """Return the text of a file in this package: a template, a style sheet or a script."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
