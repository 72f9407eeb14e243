"""What a process and all that it has started have taken, by the system's own account."""

import os
import time
from pathlib import Path


def cpu_s() -> float:
    """The CPU time of this process and of its descendants, those that have ended included."""
    own, *others = descendants(os.getpid())
    ticks = sum(_ticks(own)[2:]) + sum(sum(_ticks(pid)) for pid in others)
    # What the system counts in ticks would be too coarse for this process itself.
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def peak_bytes(pid: int) -> int:
    """The most memory that a process ever had; nothing, if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)


def tree_peak_bytes() -> int:
    """The sum of the peaks of this process and of its descendants."""
    return sum(map(peak_bytes, descendants(os.getpid())))


def descendants(root: int) -> list[int]:
    """A process and those that run below it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            fields = _stat(int(entry.name))
            if fields:
                parents[int(entry.name)] = int(fields[1])
    found, checked = [root], 0
    while checked < len(found):
        found += [pid for pid, parent in parents.items() if parent == found[checked]]
        checked += 1
    return found


def _ticks(pid: int) -> list[int]:
    """What it has taken as a user and within the system; the same of its children that ended."""
    return [int(field) for field in _stat(pid)[11:15]]


def _stat(pid: int) -> list[str]:
    """The fields of a process from its state on; the name before it may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
