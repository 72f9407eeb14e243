"""The CPU time and memory of a process and its descendants, as the system reports them."""

import os
import time
from pathlib import Path


def cpu_s() -> float:
    """Return the CPU time of this process and its descendants, including ended ones."""
    own, *others = descendants(os.getpid())
    ticks = sum(_ticks(own)[2:]) + sum(sum(_ticks(pid)) for pid in others)
    # The system's ticks would be too coarse for this process itself.
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def peak_bytes(pid: int) -> int:
    """Return the peak memory of a process, or 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)


def tree_peak_bytes() -> int:
    """Return the sum of the peaks of this process and its descendants."""
    return sum(map(peak_bytes, descendants(os.getpid())))


def descendants(root: int) -> list[int]:
    """Return a process and its running descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            fields = _stat(int(entry.name))
            if fields:
                parents[int(entry.name)] = int(fields[1])
    pids, checked = [root], 0
    while checked < len(pids):
        pids += [pid for pid, parent in parents.items() if parent == pids[checked]]
        checked += 1
    return pids


def _ticks(pid: int) -> list[int]:
    """Return a process's user and system ticks, and those of its ended children."""
    return [int(field) for field in _stat(pid)[11:15]]


def _stat(pid: int) -> list[str]:
    """Return the fields of a process after its name, which may contain anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
