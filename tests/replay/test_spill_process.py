"""The resources of a seen set: its memory is bounded, and its disk space is released."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_BYTES = 16 << 20
ALLOWANCE_BYTES = 40 << 20

FILL = """
import resource, sys
from itertools import islice
from headrace.protocol.action import Remove
from headrace.protocol.key import FileKey
from headrace.replay.seen import SeenSet

def peak_bytes():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

def keys(count, kind):
    for number in range(count):
        yield FileKey(f"{kind}={number * 7919 % count:07}/{'d' * 85}.parquet")

def fill(seen, count, per_source):
    every = (Remove(path=key.path) for key in keys(count, "k"))
    for source in range(count // per_source):
        seen.admit(str(source), adds=[], removes=islice(every, per_source))
"""

LAUNCH = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]]))"
"""A process starts with the memory peak of its parent, and pytest's own peak is large."""


@pytest.mark.parametrize("per_source", [1_000, 1_000_000])
def test_a_million_keys_stay_within_the_limit_and_a_fixed_allowance(per_source: int) -> None:
    script = f"""{FILL}
idle = peak_bytes()
seen = SeenSet(memory_limit_bytes={LIMIT_BYTES})
fill(seen, 1_000_000, {per_source})
frozen = seen.freeze()
hits = sum(frozen.contains_many(islice(keys(1_000_000, "k"), 5_000)))
hits += sum(frozen.contains_many(islice(keys(1_000_000, "other"), 5_000)))
print(len(frozen), hits, peak_bytes() - idle)
"""
    result = subprocess.run(
        [sys.executable, "-c", LAUNCH, script], check=True, capture_output=True, text=True
    )
    length, hits, grown_bytes = map(int, result.stdout.split())
    assert (length, hits) == (1_000_000, 5_000)
    assert grown_bytes < LIMIT_BYTES + ALLOWANCE_BYTES


@pytest.mark.skipif(os.name != "posix", reason="an open file keeps its name elsewhere")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_process_leaves_no_files(end: signal.Signals, tmp_path: Path) -> None:
    script = f"""{FILL}
seen = SeenSet(memory_limit_bytes=100_000)
for source in range(1_000_000):
    seen.admit(str(source), adds=[], removes=[Remove(path=f"{{source}}/{{'d' * 85}}")])
    if seen.spilled_keys and source % 1000 == 0:
        print("spilled", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "spilled\n"
        process.send_signal(end)
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []
