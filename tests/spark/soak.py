"""Repeatedly kills a streaming process while its table grows, and checks every row.

Run `make spark-soak`, or `python -m tests.spark.soak --kills 20`. The exit status reports the
result.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

PARTS = 3
LONGEST_RUN_S = 6.0
FIRST_RUN_S = 0.2
PATIENCE_S = 300.0


@dataclass
class GrowingTable:
    """A table to which a thread appends rows with consecutive ids, until it is stopped."""

    folder: Path
    random: random.Random
    next_id: int = 0
    commits: int = 0
    _stopping: threading.Event = field(default_factory=threading.Event)

    def append(self) -> None:
        ids = range(self.next_id, self.next_id + self.random.randint(1, 40))
        parts = [self.random.randrange(PARTS) for _ in ids]
        rows = pa.table({"id": pa.array(ids, pa.int64()), "part": parts})
        write_deltalake(self.folder, rows, mode="append", partition_by=["part"])
        self.next_id, self.commits = ids.stop, self.commits + 1
        if self.commits % 10 == 0:
            DeltaTable(self.folder).create_checkpoint()
        if self.commits % 16 == 0:
            DeltaTable(self.folder).optimize.compact()  # moves rows without adding any

    @contextmanager
    def growing(self, every_s: float) -> Iterator[None]:
        def grow() -> None:
            while not self._stopping.wait(every_s):
                self.append()

        thread = threading.Thread(target=grow)
        thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            thread.join()


@dataclass(frozen=True)
class Outcome:
    rows: int
    lost: list[int]
    doubled: list[int]
    batches: int
    """Micro-batches committed before the last process caught up."""


def soak(folder: Path, *, kills: int, seed: int) -> Outcome:
    """Run and kill a stream `kills` times, then let it catch up, and compare the rows."""
    chance = random.Random(seed)
    table = GrowingTable(folder / "table", chance)
    for _ in range(4):
        table.append()
    paths = [str(folder / name) for name in ("table", "sink", "checkpoint")]
    planned, log = (folder / "checkpoint" / name for name in ("offsets", "commits"))
    with table.growing(every_s=1.0):
        for number in range(kills):
            before = _batches(log)
            process = _start(paths)
            # The first process is killed in its first micro-batch, most in a later one, and some
            # before they reach one.
            if number == 0:
                _wait_for_batch(planned, before, process)
            elif number % 5 != 4:
                _wait_for_batch(log, before, process)
            time.sleep(chance.uniform(0, LONGEST_RUN_S if number else FIRST_RUN_S))
            _kill(process)
            _say(f"kill {number + 1}: {_batches(log)} batches, {table.next_id} rows")
    batches = _batches(log)
    answer = folder / "answer.json"
    last = _start([*paths, "--finish", str(answer)])
    if last.wait(PATIENCE_S):
        raise RuntimeError("the last run failed")
    ids = Counter(json.loads(answer.read_text()))
    return Outcome(
        rows=table.next_id,
        lost=sorted(set(range(table.next_id)) - ids.keys()),
        doubled=sorted(number for number, times in ids.items() if times > 1),
        batches=batches,
    )


def _start(arguments: list[str]) -> "subprocess.Popen[bytes]":
    script = Path(__file__).with_name("streaming.py")
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        start_new_session=True,  # so that its child processes can be found by session id
        stderr=subprocess.DEVNULL,
    )


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process, its JVM and their workers, immediately and without warning."""
    for number in _session(process.pid):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    process.wait()


def _session(leader: int) -> list[int]:
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == leader:
                    pids.append(int(entry.name))
    return pids


def _batches(log: Path) -> int:
    return sum(path.name.isdecimal() for path in log.iterdir()) if log.is_dir() else 0


def _wait_for_batch(log: Path, before: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while _batches(log) <= before:
        if process.poll() is not None:
            raise RuntimeError(f"the stream ended by itself with status {process.returncode}")
        if time.monotonic() > deadline:
            _kill(process)
            raise RuntimeError("the stream does not get on")
        time.sleep(0.05)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    chosen = parser.parse_args()
    _say(f"seed {chosen.seed}")
    with TemporaryDirectory() as folder:
        outcome = soak(Path(folder), kills=chosen.kills, seed=chosen.seed)
    _say(
        f"{outcome.rows} rows after {chosen.kills} kills: {len(outcome.lost)} lost, "
        f"{len(outcome.doubled)} doubled"
    )
    if outcome.lost or outcome.doubled:
        sys.exit(1)


if __name__ == "__main__":
    main()
