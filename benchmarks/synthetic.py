"""Synthetic data files: every property of a file follows from its number.

The path encodes the number in a form that looks random, and `numbers_of` decodes it. So an answer
can be checked without keeping the paths of all files.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers: TypeAlias = npt.NDArray[np.uint64]
Texts: TypeAlias = Any
"""A `pyarrow.StringArray`."""

FIRST_DAY = date(2024, 1, 1)
DAYS = [str(FIRST_DAY + timedelta(days=day)) for day in range(365)]
REGIONS = [f"{area}-{n}" for area in ("eu-west", "us-east", "ap-south", "sa-east") for n in (1, 2)]
EPOCH_MS = 1_704_067_200_000
DAY_MS = 86_400_000

TOMBSTONE = np.uint64(1 << 40)
"""Files from this number on were removed before the checkpoint."""
COMMITTED = np.uint64(1 << 41)
"""Files from this number on were added after the checkpoint."""

_TASKS = 200
_PREFIXES = pa.array([f"date={day}/region={region}/part-" for day in DAYS for region in REGIONS])
_TASK_TEXTS = pa.array([f"{task:05d}-" for task in range(_TASKS)])
_MORNINGS = pa.array([f"T0{n % 10}:15:27.{n:03d}Z" for n in range(1000)])
_EVENINGS = pa.array([f"T1{n % 10}:48:59.{n:03d}Z" for n in range(1000)])
_CENTS = pa.array([f".{n:02d}" for n in range(100)])
_DAY_TEXTS = pa.array(DAYS)
_REGION_TEXTS = pa.array(REGIONS)
_UUID = re.compile(r"-([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The columns of some files, in the order of their numbers."""

    numbers: Numbers
    paths: Texts
    days: npt.NDArray[np.int64]
    regions: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    modified_ms: npt.NDArray[np.int64]
    records: npt.NDArray[np.int64]
    least_ids: npt.NDArray[np.int64]
    entropy: Numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def day_texts(self) -> Texts:
        """Return the date of each file, as the log spells it."""
        return _DAY_TEXTS.take(pa.array(self.days))

    @property
    def region_texts(self) -> Texts:
        """Return the region of each file."""
        return _REGION_TEXTS.take(pa.array(self.regions))

    def bounds(self) -> dict[str, tuple[Texts, Texts]]:
        """Return the minimum and maximum of each column, as JSON text without quotes."""
        days, bits = self.day_texts, self.entropy
        names = hex_texts(mix(bits), 6)
        low, high = _drawn(bits, 11, 10_000), 500_000 + _drawn(bits, 12, 90_000_000)
        return {
            "id": (_texts(self.least_ids), _texts(self.least_ids + self.records)),
            "ts": (
                _join(days, _MORNINGS.take(pa.array(_drawn(bits, 5, 1000)))),
                _join(days, _EVENINGS.take(pa.array(_drawn(bits, 6, 1000)))),
            ),
            "amount": (_money(low), _money(high)),
            "name": (_join(pa.scalar("cust-"), names), _join(pa.scalar("zed-"), names)),
        }

    def null_names(self) -> npt.NDArray[np.int64]:
        """Return the null count of the column `name` in each file."""
        return _drawn(self.entropy, 15, 900)

    def statistics(self) -> Texts:
        """Return the statistics of each file, as JSON."""
        bounds = self.bounds()
        low, high = ({name: b[side] for name, b in bounds.items()} for side in (0, 1))
        return _join(
            *("{" + '"numRecords":', _texts(self.records)),
            *(',"minValues":', *_object(low)),
            *(',"maxValues":', *_object(high)),
            *(',"nullCount":{"id":0,"ts":0,"amount":12,"name":', _texts(self.null_names()), "}}"),
        )


def make_files(numbers: Numbers, *, total: int, seed: int, revision: int = 0) -> Files:
    """Return the files with these numbers, in a lake whose checkpoint has `total` files.

    A later revision of a file keeps its path and partition, but has a new size and new statistics.
    """
    identity = mix(numbers + np.uint64(seed << 48))
    entropy = mix(identity + np.uint64(revision))
    # Most new files belong to the last day; some arrive late and belong to any day.
    newest = np.where(_drawn(identity, 0, 10) == 0, _drawn(identity, 8, len(DAYS)), len(DAYS) - 1)
    in_order = numbers.astype(np.int64) * len(DAYS) // total
    days = np.where(numbers < TOMBSTONE, in_order, newest)
    regions = _drawn(identity, 0, len(REGIONS))
    return Files(
        numbers=numbers,
        paths=_paths(numbers, days, regions, seed=seed),
        days=days,
        regions=regions,
        sizes=20_000_000 + _drawn(entropy, 20, 240_000_000),
        modified_ms=EPOCH_MS + days * DAY_MS + _drawn(entropy, 9, DAY_MS),
        records=1000 + _drawn(entropy, 13, 900_000),
        least_ids=_drawn(entropy, 7, 1_000_000_000),
        entropy=entropy,
    )


def numbers_of(paths: Sequence[str], *, seed: int) -> Numbers:
    """Return the number in each path, or raise a ValueError if a path has none."""
    matches = [_UUID.search(path) for path in paths]
    if unmatched := [path for path, match in zip(paths, matches, strict=True) if match is None]:
        msg = f"not a path of a synthetic file: {unmatched[0]}"
        raise ValueError(msg)
    digits = ["".join(match.groups()) for match in matches if match]
    high = np.array([int(text[:16], 16) for text in digits], np.uint64)
    low = np.array([int(text[16:], 16) for text in digits], np.uint64)
    return low ^ mix(high + np.uint64(seed))


def mix(numbers: Numbers) -> Numbers:
    """Spread 64-bit numbers over all their bits, keeping different numbers different."""
    n = numbers + np.uint64(0x9E3779B97F4A7C15)
    n = (n ^ (n >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    n = (n ^ (n >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return n ^ (n >> np.uint64(31))


def _drawn(bits: Numbers, shift: int, size: int) -> npt.NDArray[np.int64]:
    """Return numbers below `size` from random bits."""
    return ((bits >> np.uint64(shift)) % np.uint64(size)).astype(np.int64)


def hex_texts(numbers: Numbers, digits: int) -> Texts:
    """Return the last `digits` hexadecimal digits of each number."""
    return _fixed_width(_hex(numbers)[:, -digits:])


def _paths(
    numbers: Numbers, days: npt.NDArray[np.int64], regions: npt.NDArray[np.int64], *, seed: int
) -> Texts:
    high = mix(numbers + np.uint64(seed << 32))
    digits = np.hstack([_hex(high), _hex(numbers ^ mix(high + np.uint64(seed)))])
    uuids = np.full((len(numbers), 36), ord("-"), np.uint8)
    uuids[:, [i for i in range(36) if i not in (8, 13, 18, 23)]] = digits
    return _join(
        _PREFIXES.take(pa.array(days * len(REGIONS) + regions)),
        _TASK_TEXTS.take(pa.array(_drawn(numbers, 0, _TASKS))),
        _fixed_width(uuids),
        ".c000.snappy.parquet",
    )


def _hex(numbers: Numbers) -> npt.NDArray[np.uint8]:
    octets = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    return np.stack([digits[octets >> 4], digits[octets & 15]], axis=2).reshape(-1, 16)


def _fixed_width(characters: npt.NDArray[np.uint8]) -> Texts:
    size, width = characters.shape
    offsets = np.arange(0, (size + 1) * width, width, dtype=np.int32)
    text = pa.py_buffer(np.ascontiguousarray(characters))
    return pa.StringArray.from_buffers(size, pa.py_buffer(offsets), text)


def _object(values: dict[str, Texts]) -> list[Texts]:
    parts: list[Texts] = []
    for before, (name, texts) in zip("{,,,", values.items(), strict=True):
        quote = '"' if name in {"ts", "name"} else ""
        parts += [f'{before}"{name}":{quote}', texts, quote]
    return [*parts, "}"]


def _money(cents: npt.NDArray[np.int64]) -> Texts:
    return _join(_texts(cents // 100), _CENTS.take(pa.array(cents % 100)))


def _texts(numbers: npt.NDArray[Any]) -> Texts:
    return pa.array(numbers).cast(pa.string())


def _join(*parts: Texts) -> Texts:
    return pc.binary_join_element_wise(*parts, "")
