"""Kernel for XPath over XML text: element names, `text()`, an attribute, `sum` and `count`.

XML with entities, comments, CDATA, processing instructions or namespaces is left to Spark's own
parser: the run fails with an error that says so.
"""

import math
import re
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pyarrow as pa

from headrace.pipeline.translation.java_number import SparkOnlyError
from headrace.pipeline.translation.kernel import KernelCall, partial_kernel
from headrace.pipeline.translation.kernels.row import by_distinct

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PATH = re.compile(rf"(?:(sum|count)\()?(/?{_NAME}(?:/{_NAME})*)(/text\(\)|/@{_NAME})?(\))?")
_NUMBER = re.compile(r"[ \t\r\n]*(-?(?:\d+(?:\.\d*)?|\.\d+))[ \t\r\n]*", re.ASCII)
_UNPROVEN_XML = re.compile(r"<[!?]|&|:|xmlns|[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LIMITS = {pa.int16(): 15, pa.int32(): 31, pa.int64(): 53}


class SparkXmlError(ValueError):
    """Spark's error for text that is not XML."""


class Path(msgspec.Struct, frozen=True):
    """The element names from the root, the part of the last one, and the function of the nodes."""

    names: tuple[str, ...]
    part: str
    """`text()`, an attribute with its @, or empty for the elements themselves."""
    function: str


def parse_path(written: str) -> Path | None:
    """Parse a path of the proven forms; None for others."""
    match = _PATH.fullmatch(written)
    if match is None or bool(match[1]) != bool(match[4]):
        return None
    names = tuple(match[2].removeprefix("/").split("/"))
    return Path(names, (match[3] or "").removeprefix("/"), match[1] or "")


def _nodes(xml: str, path: Path) -> list[Any]:
    """Return the elements at a path, or their texts or attribute values."""
    if _UNPROVEN_XML.search(xml):
        raise SparkOnlyError("XML with entities, comments, namespaces or the like; run it on Spark")
    try:
        root = ET.fromstring(xml)  # noqa: S314  (no document type and no entity gets here)
    except ET.ParseError as error:
        raise SparkXmlError(f"{xml[:80]!r} is not XML") from error
    elements = [root] if root.tag == path.names[0] else []
    for name in path.names[1:]:
        elements = [child for element in elements for child in element if child.tag == name]
    if path.part.startswith("@"):
        values = (element.get(path.part[1:]) for element in elements)
        return [value for value in values if value is not None]
    if path.part:
        return [text for element in elements for text in _texts(element)]
    return elements


def _texts(element: ET.Element) -> list[str]:
    texts = [element.text, *(child.tail for child in element)]
    return [text for text in texts if text]


def _string(node: Any) -> str:
    return node if isinstance(node, str) else "".join(node.itertext())


def _as_number(text: str) -> float:
    match = _NUMBER.fullmatch(text)
    return float(match[1]) if match else math.nan


def _number(nodes: list[Any], path: Path) -> float:
    if path.function == "count":
        return float(len(nodes))
    if path.function == "sum":
        total = 0.0
        for node in nodes:
            total += _as_number(_string(node))
        return total
    return _as_number(_string(nodes[0])) if nodes else math.nan


def _result(nodes: list[Any], path: Path, kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return [node if isinstance(node, str) else None for node in nodes]
    if kind == pa.bool_():
        if not path.function:
            return bool(nodes)
        number = _number(nodes, path)
        return bool(number) and not math.isnan(number)
    if kind == pa.string():
        if path.function:
            raise SparkOnlyError("an XPath number as text; run it on Spark")
        return _string(nodes[0]) if nodes else ""
    number = _number(nodes, path)
    if kind not in _LIMITS:
        return number
    if math.isnan(number):
        return 0
    if abs(number) >= 1 << _LIMITS[kind]:
        raise SparkOnlyError("a large XPath number; run it on Spark")
    return int(number)


@partial_kernel
def xpath(call: KernelCall, texts: pa.Array) -> pa.Array:
    """Evaluate a path, which is the parameter, as a value of the call's result type."""
    path = parse_path(call.parameters[0])
    assert path is not None

    def evaluated(xml: str) -> Any:
        return _result(_nodes(xml, path), path, call.gives) if xml else None

    return by_distinct(evaluated, call.gives, texts)
