"""The truth about a lake, known from how it was generated, and checks against it.

The digest of a set of files does not depend on their order: it is the sum of one hash per file. So
it can be computed batch by batch, and a missing, duplicated or resized file changes it.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.parameter import Checksum, Layout, Order, Parameters, Values
from benchmarks.synthetic import (
    COMMITTED,
    DAYS,
    REGIONS,
    Files,
    Numbers,
    Texts,
    make_files,
    mix,
    numbers_of,
)

NAME = "truth.json"
PROBES = ((200, 4), (364, 1))
"""The partitions whose files are counted, as day and region: an old one, and the newest."""
BELOW = 100_000_000
"""The predicate is `id < BELOW`, which prunes most files."""

_WIDTH = 128
_CHUNK = 16_384
_FACTORS = mix(np.arange(_WIDTH // 8, dtype=np.uint64)) | np.uint64(1)


@dataclass(slots=True, kw_only=True)
class Tally:
    """The number of files, their total size, and a digest of their paths and sizes."""

    count: int = 0
    size_bytes: int = 0
    digest: int = 0

    def add(self, paths: Texts, sizes: npt.NDArray[np.int64]) -> None:
        """Add some files."""
        self.count += len(paths)
        self.size_bytes += int(sizes.sum())
        self.digest = (self.digest + digest(paths, sizes)) % (1 << 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A requested partition, and its contents."""

    date: str
    region: str
    tally: Tally


@dataclass(slots=True, kw_only=True)
class Truth:
    """The facts that every right answer matches."""

    parameters: Parameters
    live: Tally
    partitions: list[Partition]
    below: int = BELOW
    matching: int = 0
    """Live files that may hold an `id` below `below`."""
    records: int = 0
    statistics_bytes: int = 0
    dead: list[int]

    @classmethod
    def start(cls, parameters: Parameters, *, dead: Numbers) -> Self:
        """Return the truth before any file is generated."""
        partitions = [
            Partition(date=DAYS[day], region=REGIONS[region], tally=Tally())
            for day, region in PROBES
        ]
        numbers = sorted(map(int, dead))
        return cls(parameters=parameters, live=Tally(), partitions=partitions, dead=numbers)

    def add(self, files: Files, statistics: Texts, live: npt.NDArray[np.bool_]) -> None:
        """Add the live files among these."""
        self.live.add(files.paths.filter(pa.array(live)), files.sizes[live])
        for (day, region), partition in zip(PROBES, self.partitions, strict=True):
            held = live & (files.days == day) & (files.regions == region)
            partition.tally.add(files.paths.filter(pa.array(held)), files.sizes[held])
        self.matching += int((live & (files.least_ids < self.below)).sum())
        self.records += int(files.records[live].sum())
        lengths = pc.binary_length(statistics.filter(pa.array(live)))
        self.statistics_bytes += pc.sum(lengths).as_py() or 0

    def check_paths(self, paths: Sequence[str], *, partition: Partition | None = None) -> None:
        """Check that these paths are distinct live files.

        Raises:
            ValueError: One of them is not live, not in the partition, or a duplicate.
        """
        numbers = numbers_of(paths, seed=self.parameters.seed)
        files = make_files(numbers, total=self.parameters.files, seed=self.parameters.seed)
        if files.paths.to_pylist() != list(paths):
            raise ValueError("a path that the lake never had")
        born = (numbers < self.parameters.files) | (numbers >= COMMITTED)
        if not born.all() or np.isin(numbers, np.array(self.dead, np.uint64)).any():
            raise ValueError("a file that is not live")
        if len(np.unique(numbers)) != len(numbers):
            raise ValueError("a file that is there twice")
        if partition is None:
            return
        inside = (files.days == DAYS.index(partition.date)) & (
            files.regions == REGIONS.index(partition.region)
        )
        if not inside.all():
            raise ValueError("a file of another partition")

    def write(self, folder: Path) -> None:
        """Write it next to the log."""
        (folder / NAME).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read it back."""
        fields: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
        parameters = fields.pop("parameters")
        parameters |= {"layout": Layout(parameters["layout"]), "order": Order(parameters["order"])}
        parameters |= {
            "values": Values(parameters["values"]),
            "checksum": Checksum(parameters["checksum"]),
        }
        return cls(
            parameters=Parameters(**parameters),
            live=Tally(**fields.pop("live")),
            partitions=[
                Partition(date=p["date"], region=p["region"], tally=Tally(**p["tally"]))
                for p in fields.pop("partitions")
            ],
            **fields,
        )


def digest(paths: Texts, sizes: npt.NDArray[np.int64]) -> int:
    """Return one number for a set of files, independent of their order."""
    total = np.uint64(0)
    for start in range(0, len(paths), _CHUNK):
        chunk = paths.slice(start, _CHUNK)
        if pc.max(pc.binary_length(chunk)).as_py() > _WIDTH:
            raise ValueError("a path that the lake never had")
        padded = pc.ascii_rpad(chunk, _WIDTH, " ")
        text = padded.buffers()[2][: len(chunk) * _WIDTH]
        words = np.frombuffer(text, np.uint64).reshape(-1, _WIDTH // 8)
        hashes = mix((words * _FACTORS).sum(axis=1, dtype=np.uint64))
        marks = mix(sizes[start : start + _CHUNK].astype(np.uint64))
        total = np.add(total, mix(hashes ^ marks).sum(dtype=np.uint64), dtype=np.uint64)
    return int(total)
