"""Generate synthetic Delta logs of any size, without data files, whose truth is known.

A lake has one checkpoint and the commits after it. It is generated once for each set of parameters,
a chunk of rows at a time, and kept below `HEADRACE_BENCH_DIR` (by default `.bench`).
"""

import argparse
import json
import os
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.checkpoint import (
    VERSION,
    Batch,
    add_actions,
    leaf_names,
    leaf_schema,
    manifest_name,
    manifest_schema,
    other_actions,
    remove_actions,
    write_parquet,
)
from benchmarks.history import Commit, History, plan_history
from benchmarks.parameter import Checksum, Layout, Order, Parameters, Values, Writer
from benchmarks.synthetic import DAY_MS, EPOCH_MS, TOMBSTONE, Files, Numbers, make_files
from benchmarks.truth import NAME, Truth

ROOT = Path(__file__).resolve().parents[1]
CHUNK = 65_536

_SCHEMA = {
    "id": "long",
    "ts": "timestamp",
    "amount": "double",
    "name": "string",
    "date": "date",
    "region": "string",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """A table, and the truth about it."""

    table: Path
    truth: Truth


def open_lake(parameters: Parameters, *, below: Path | None = None) -> Lake:
    """Return the lake of these parameters, creating it if needed."""
    folder = (below or bench_folder()) / parameters.name
    if not (folder / NAME).exists():
        started = time.monotonic()
        # Create it next to its final place and move it there, so that an unfinished lake is never
        # used.
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        _make(parameters, unfinished, below=below)
        unfinished.rename(folder)
        print(f"made {folder.name} in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return Lake(table=folder / "table", truth=Truth.read(folder))


def bench_folder() -> Path:
    """Return the folder that holds the lakes."""
    return Path(os.environ.get("HEADRACE_BENCH_DIR") or ROOT / ".bench")


def _make(parameters: Parameters, folder: Path, *, below: Path | None) -> None:
    log = folder / "table" / "_delta_log"
    if parameters.checksum is Checksum.NEWEST:
        _make_with_checksum(parameters, folder, below=below)
        return
    if parameters.writer is Writer.DELTALAKE:
        _make_with_deltalake(parameters, folder, below=below)
        return
    (log / "_sidecars" if parameters.layout is Layout.V2 else log).mkdir(parents=True)
    history = plan_history(parameters)
    truth = Truth.start(parameters, dead=history.dead)
    _write_checkpoint(log, parameters, history, truth)
    for index, commit in enumerate(history.commits):
        lines = "".join(f"{_compact(line)}\n" for line in _actions(parameters, commit, index))
        (log / f"{VERSION + 1 + index:020d}.json").write_text(lines, encoding="utf-8")
    for numbers, revision in ((history.fresh, 0), (history.revised, 1)):
        files = _files(parameters, numbers, revision=revision)
        truth.add(files, files.statistics(), np.ones(len(files), np.bool_))
    truth.write(folder)


def _make_with_checksum(parameters: Parameters, folder: Path, *, below: Path | None) -> None:
    """Copy the lake without a checksum, with hard links where possible, and add a checksum."""
    plain = open_lake(replace(parameters, checksum=Checksum.ABSENT), below=below)
    shutil.copytree(plain.table, folder / "table", copy_function=_link)
    truth = replace(plain.truth, parameters=parameters)
    checksum = {
        "tableSizeBytes": truth.live.size_bytes,
        "numFiles": truth.live.count,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": _metadata(parameters),
        "protocol": _protocol(parameters),
    }
    newest = folder / "table" / "_delta_log" / f"{VERSION + parameters.commits:020d}.crc"
    newest.write_text(_compact(checksum), encoding="utf-8")
    truth.write(folder)


def _make_with_deltalake(parameters: Parameters, folder: Path, *, below: Path | None) -> None:
    """Copy the lake, and let deltalake write the checkpoint of the same version again.

    deltalake checkpoints the newest version. So it gets a log with the checkpoint alone, one
    version older, and a commit that changes nothing.
    """
    from deltalake import DeltaTable  # noqa: PLC0415

    plain = open_lake(replace(parameters, writer=Writer.PYARROW), below=below)
    shutil.copytree(plain.table, folder / "table", copy_function=_link)
    log = folder / "table" / "_delta_log"
    older = folder / "older" / "_delta_log"
    older.mkdir(parents=True)
    name = leaf_names(parameters)[0]
    _link(str(log / name), str(older / f"{VERSION - 1:020d}.checkpoint.parquet"))
    (older / f"{VERSION:020d}.json").write_text(
        '{"commitInfo":{"timestamp":0}}\n', encoding="utf-8"
    )
    DeltaTable(older.parent).create_checkpoint()
    for written in (name, "_last_checkpoint"):
        (log / written).unlink()
        (older / written).rename(log / written)
    shutil.rmtree(older.parent)
    replace(plain.truth, parameters=parameters).write(folder)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _write_checkpoint(log: Path, parameters: Parameters, history: History, truth: Truth) -> None:
    schema, names = leaf_schema(parameters), leaf_names(parameters)
    head = [{"protocol": _protocol(parameters)}, {"metaData": _metadata(parameters)}, _TXN]
    rows, size_bytes = 0, 0
    for part, name in enumerate(names):
        beginning = head if part == 0 and parameters.layout is not Layout.V2 else []
        batches = _leaf(schema, parameters, history, truth, part=(part, len(names)))
        first = [other_actions(schema, beginning)] if beginning else []
        rows += write_parquet(log / name, schema, _chain(first, batches), parameters)
        size_bytes += (log / name).stat().st_size
    if parameters.layout is Layout.V2:
        manifest = [*head, {"checkpointMetadata": {"version": VERSION, "tags": None}}]
        manifest += [{"sidecar": _sidecar(log / name)} for name in names]
        batch = other_actions(manifest_schema(), manifest)
        rows += write_parquet(log / manifest_name(parameters), batch.schema, [batch], parameters)
    hint = {"version": VERSION, "size": rows, "sizeInBytes": size_bytes}
    hint |= {"numOfAddFiles": parameters.files}
    hint |= {"parts": len(names)} if parameters.layout is Layout.MULTI_PART else {}
    (log / "_last_checkpoint").write_text(_compact(hint), encoding="utf-8")


def _chain(first: list[Batch], rest: Iterator[Batch]) -> Iterator[Batch]:
    yield from first
    yield from rest


def _leaf(
    schema: Any, parameters: Parameters, history: History, truth: Truth, *, part: tuple[int, int]
) -> Iterator[Batch]:
    """Yield the adds and tombstones of one checkpoint file, and record each add in the truth."""
    touched = history.touched
    for places in _chunks(parameters.files, part):
        files = _files(parameters, _placed(places, parameters))
        statistics = files.statistics()
        truth.add(files, statistics, ~np.isin(files.numbers, touched))
        yield add_actions(schema, files, statistics)
    for places in _chunks(parameters.tombstones, part):
        yield remove_actions(schema, _files(parameters, places + TOMBSTONE))


def _chunks(total: int, part: tuple[int, int]) -> Iterator[Numbers]:
    index, parts = part
    end = total * (index + 1) // parts
    for start in range(total * index // parts, end, CHUNK):
        yield np.arange(start, min(start + CHUNK, end), dtype=np.uint64)


def _placed(places: Numbers, parameters: Parameters) -> Numbers:
    """Return which file is at each position of the checkpoint."""
    if parameters.order is Order.DATE:
        return places
    # Neighbours are a golden section apart, so that every range has files of every day.
    step = int(parameters.files * 0.6180339887) | 1
    while np.gcd(step, parameters.files) != 1:
        step += 2
    return places * np.uint64(step) % np.uint64(parameters.files)


def _files(parameters: Parameters, numbers: Numbers, *, revision: int = 0) -> Files:
    return make_files(numbers, total=parameters.files, seed=parameters.seed, revision=revision)


def _actions(parameters: Parameters, commit: Commit, index: int) -> Iterator[dict[str, Any]]:
    at_ms = EPOCH_MS + 400 * DAY_MS + index * 60_000
    yield {"commitInfo": {"timestamp": at_ms, "operation": "MERGE", "isBlindAppend": False}}
    for numbers, revision in ((commit.added, 0), (commit.readded, 1)):
        files = _files(parameters, numbers, revision=revision)
        for row, statistics in zip(_shared(files), files.statistics().to_pylist(), strict=True):
            yield {"add": row | {"dataChange": revision == 0, "stats": statistics}}
    for row in _shared(_files(parameters, commit.removed)):
        row["deletionTimestamp"] = at_ms
        del row["modificationTime"]
        yield {"remove": row | {"dataChange": True, "extendedFileMetadata": True}}


def _shared(files: Files) -> Iterator[dict[str, Any]]:
    columns = (files.paths.to_pylist(), files.day_texts.to_pylist(), files.region_texts.to_pylist())
    numbers = (files.sizes.tolist(), files.modified_ms.tolist())
    for path, day, region, size, modified in zip(*columns, *numbers, strict=True):
        values = {"date": day, "region": region}
        yield {
            "path": path,
            "partitionValues": values,
            "size": size,
            "modificationTime": modified,
        }


_TXN = {"txn": {"appId": "generator", "version": 7, "lastUpdated": EPOCH_MS}}


def _protocol(parameters: Parameters) -> dict[str, Any]:
    if parameters.layout is not Layout.V2:
        return {"minReaderVersion": 1, "minWriterVersion": 2}
    features = ["v2Checkpoint"]
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    return versions | {"readerFeatures": features, "writerFeatures": features}


def _metadata(parameters: Parameters) -> dict[str, Any]:
    columns = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in _SCHEMA.items()
    ]
    as_struct = "true" if parameters.values is Values.PARSED else "false"
    return {
        "id": str(uuid.UUID(int=parameters.seed)),
        "name": "synthetic",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _compact({"type": "struct", "fields": columns}),
        "partitionColumns": ["date", "region"],
        "configuration": {"delta.checkpoint.writeStatsAsStruct": as_struct},
        "createdTime": EPOCH_MS,
    }


def _sidecar(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    return {"path": path.name, "sizeInBytes": size, "modificationTime": EPOCH_MS, "tags": None}


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def main() -> None:
    """Create one lake and print its location."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lake", description=main.__doc__)
    defaults = Parameters(files=1_000_000)
    for field in fields(Parameters):
        value = getattr(defaults, field.name)
        option = f"--{field.name.replace('_', '-')}"
        kind = type(value)
        choices = list(kind) if issubclass(kind, StrEnum) else None
        parser.add_argument(
            option, type=kind, choices=choices, default=value, help=f"default: {value}"
        )
    print(open_lake(Parameters(**vars(parser.parse_args()))).table)


if __name__ == "__main__":
    main()
