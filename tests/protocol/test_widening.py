import json
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import UnsupportedFeatureError
from headrace.protocol.schema import parse_type
from headrace.protocol.widening import is_widening
from tests.lake.action import add, opening
from tests.lake.log import write_history
from tests.listing import open_snapshot


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("byte", "short", True),
        ("short", "long", True),
        ("integer", "double", True),
        ("long", "double", False),
        ("float", "double", True),
        ("date", "timestamp_ntz", True),
        ("date", "timestamp", False),
        ("byte", "decimal(4,1)", True),
        ("byte", "decimal(3,1)", False),
        ("integer", "decimal(11,2)", False),
        ("long", "decimal(20,0)", True),
        ("long", "decimal(19,0)", False),
        ("decimal(5,2)", "decimal(7,3)", True),
        ("decimal(5,2)", "decimal(5,3)", False),
        ("decimal(5,2)", "decimal(7,1)", False),
        ("string", "integer", False),
        ("long", "integer", False),
    ],
)
def test_rule_35_only_lossless_changes_are_followed(
    before: str, after: str, *, allowed: bool
) -> None:
    assert is_widening(parse_type(before), parse_type(after)) is allowed


def table_with(tmp_path: Path, change: dict[str, str], *, nested: bool) -> Path:
    field: dict[str, Any] = {
        "name": "id",
        "type": change["toType"],
        "nullable": True,
        "metadata": {"delta.typeChanges": [change]},
    }
    if nested:
        element = {"type": "struct", "fields": [field]}
        array = {"type": "array", "elementType": element, "containsNull": True}
        field = {"name": "outer", "type": array, "nullable": True, "metadata": {}}
    lines = opening()
    for line in lines:
        if "metaData" in line:
            line["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": [field]})
            line["metaData"]["partitionColumns"] = []
    return write_history(tmp_path, [[*lines, add("a")]])


@pytest.mark.parametrize("nested", [False, True])
def test_rule_35_an_unsupported_type_change_is_refused_by_name(
    tmp_path: Path, *, nested: bool
) -> None:
    table = table_with(tmp_path, {"fromType": "string", "toType": "integer"}, nested=nested)
    with pytest.raises(UnsupportedFeatureError, match="column id from string to integer"):
        open_snapshot(table).scan()


def test_rule_35_a_supported_type_change_is_read(tmp_path: Path) -> None:
    table = table_with(tmp_path, {"fromType": "integer", "toType": "long"}, nested=False)
    assert [file.path for file in open_snapshot(table).scan()] == ["a"]
