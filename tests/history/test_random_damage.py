"""After any damage to a log file, a scan lists exactly what was committed, or refuses.

Damage that no reader can detect is excluded: a JSON file that ends after a whole line.
"""

from enum import Enum
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import DamageError, TableError
from headrace.log.name import CommitName, parse_name
from tests.effort import examples
from tests.lake.plan import Plan
from tests.lake.strategies import plans
from tests.listing import by_key, open_snapshot

pytestmark = pytest.mark.property


class Damage(Enum):
    """What may happen to a file."""

    DELETED = "deleted"
    EMPTIED = "emptied"
    CUT = "cut"
    OVERWRITTEN = "overwritten"


def _files(table: Path) -> list[Path]:
    return sorted(path for path in (table / "_delta_log").rglob("*") if path.is_file())


def _inflict(damage: Damage, path: Path, place: int) -> None:
    content = path.read_bytes()
    match damage:
        case Damage.DELETED:
            path.unlink()
        case Damage.EMPTIED:
            path.write_bytes(b"")
        case Damage.OVERWRITTEN:
            path.write_bytes(b"\0" * len(content))
        case Damage.CUT:
            ends = [at for at in range(1, len(content)) if b"\n" not in content[at - 1 : at + 1]]
            path.write_bytes(content[: ends[place % len(ends)]] if ends else b"{")


def _is_detectable(damage: Damage, path: Path) -> bool:
    """An emptied commit looks like one without actions; a compaction always has some."""
    return damage is not Damage.EMPTIED or not isinstance(parse_name(path.name), CommitName)


def test_damage_is_tolerated_without_loss_or_refused() -> None:
    answers = refusals = 0

    @settings(max_examples=examples(200))
    @given(plans(most_commits=8), st.sampled_from(Damage), st.integers(0, 99), st.integers(0, 9999))
    def check(plan: Plan, damage: Damage, number: int, place: int) -> None:
        nonlocal answers, refusals
        with plan.on_disk() as table:
            files = [path for path in _files(table) if _is_detectable(damage, path)]
            if files:
                _inflict(damage, files[number % len(files)], place)
            for version in plan.readable:
                try:
                    live_files = by_key(open_snapshot(table, version).scan())
                except (DamageError, TableError):
                    refusals += 1
                    continue
                answers += 1
                assert live_files.keys() == plan.state(version).live.keys()

    check()
    assert answers > refusals > 0
