"""Change a Delta table in ways that libraries do not support, by editing its log."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

Field = dict[str, Any]
Action = dict[str, Any]


def commits(table: Path) -> list[Path]:
    """Return the commits of a table, oldest first."""
    return sorted((table / "_delta_log").glob("*.json"))


def read_actions(commit: Path) -> list[Action]:
    return [json.loads(line) for line in commit.read_text().splitlines()]


def write_actions(commit: Path, actions: list[Action]) -> None:
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions))


def add_commit(table: Path, *actions: Action) -> None:
    """Add a version."""
    version = len(commits(table))
    info = {"commitInfo": {"timestamp": version, "operation": "TEST"}}
    write_actions(table / "_delta_log" / f"{version:020}.json", [info, *actions])


def newest(table: Path, kind: str) -> Action:
    """Return the newest action of a kind."""
    actions = [a[kind] for commit in commits(table) for a in read_actions(commit) if kind in a]
    return dict(actions[-1])


def rewrite(table: Path, change: Callable[[Action], None]) -> None:
    """Change the actions of all commits in place, which makes it a different table."""
    for commit in commits(table):
        actions = read_actions(commit)
        for action in actions:
            change(action)
        write_actions(commit, actions)


def recreate_table(table: Path) -> None:
    """Replace the table by another one at the same address, with the same file names."""

    def change(action: Action) -> None:
        if "metaData" in action:
            action["metaData"]["id"] = str(uuid.UUID(int=7))

    rewrite(table, change)


def resize(table: Path) -> None:
    """Replace the files by others with the same names, each a byte larger."""

    def change(action: Action) -> None:
        if "add" in action:
            action["add"]["size"] += 1

    rewrite(table, change)


def touch(table: Path) -> None:
    """Give the files another modification time."""

    def change(action: Action) -> None:
        if "add" in action:
            action["add"]["modificationTime"] += 1000

    rewrite(table, change)


def change_schema(table: Path, change: Callable[[list[Field]], list[Field]]) -> None:
    """Commit only new metadata; the files stay as they are."""
    metadata = newest(table, "metaData")
    schema = json.loads(metadata["schemaString"])
    schema["fields"] = change(schema["fields"])
    metadata["schemaString"] = json.dumps(schema)
    add_commit(table, {"metaData": metadata})


def change_property(table: Path, name: str, value: str) -> None:
    metadata = newest(table, "metaData")
    metadata["configuration"] = {**metadata.get("configuration", {}), name: value}
    add_commit(table, {"metaData": metadata})


def map_columns(table: Path, *, mode: str = "name") -> None:
    """Enable column mapping; columns keep their names in the files."""
    change_property(table, "delta.columnMapping.mode", mode)
    add_commit(table, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}})

    def mapped(fields: list[Field]) -> list[Field]:
        return [
            {**field, "metadata": mapping(field["name"], number)}
            for number, field in enumerate(fields, 1)
        ]

    change_schema(table, mapped)


def mapping(physical_name: str, number: int) -> dict[str, Any]:
    return {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": physical_name,
    }


def add_column(name: str, kind: str = "long") -> Callable[[list[Field]], list[Field]]:
    """Add a column after the others."""
    return lambda fields: [*fields, _field(name, kind)]


def add_mapped_column(name: str, number: int) -> Callable[[list[Field]], list[Field]]:
    """Add a column with column mapping: files use another name for it."""
    metadata = mapping(f"col-{number}", number)
    return lambda fields: [*fields, {**_field(name, "long"), "metadata": metadata}]


def replace_column(name: str, number: int) -> Callable[[list[Field]], list[Field]]:
    """Drop a column and add it again, which discards its values."""

    def change(fields: list[Field]) -> list[Field]:
        return [
            {**field, "metadata": mapping(f"col-{number}", number)}
            if field["name"] == name
            else field
            for field in fields
        ]

    return change


def rename(names: dict[str, str]) -> Callable[[list[Field]], list[Field]]:
    """Rename columns; files keep the old names."""
    return lambda fields: [{**f, "name": names.get(f["name"], f["name"])} for f in fields]


def reverse(fields: list[Field]) -> list[Field]:
    return fields[::-1]


def change_field(name: str, **changes: Any) -> Callable[[list[Field]], list[Field]]:
    return lambda fields: [{**f, **changes} if f["name"] == name else f for f in fields]


def add_again(table: Path, *, values: dict[str, str]) -> None:
    """Remove the newest file, and add it again with other partition values."""
    file = newest(table, "add")
    removed = {"path": file["path"], "dataChange": True, "deletionTimestamp": 0}
    add_commit(table, {"remove": removed})
    add_commit(table, {"add": {**file, "partitionValues": values, "dataChange": True}})


def _field(name: str, kind: str) -> Field:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}
