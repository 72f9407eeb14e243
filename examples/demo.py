"""The demo: make a small lake, then watch Headrace stream its files.

Everything happens in `demo-lake/`, which is made anew each time.
"""

import shutil
import subprocess
import sys
import time
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from rich.console import Console
from rich.rule import Rule

import headrace

LAKE = Path("demo-lake")
EVENTS = LAKE / "events"
DAYS = 40
CITIES = ("Bern", "Basel", "Genève", "Zürich")

console = Console(highlight=False)


def make_lake() -> None:
    """Forty days of events in forty commits, a checkpoint among them, and one day deleted."""
    shutil.rmtree(LAKE, ignore_errors=True)
    first = date(2026, 1, 1)
    for day in range(DAYS):
        rows = pa.table(
            {
                "id": pa.array(range(day * 100, day * 100 + 100), pa.int64()),
                "date": pa.array([first + timedelta(days=day)] * 100, pa.date32()),
                "city": pa.array([CITIES[i % len(CITIES)] for i in range(100)]),
                "amount": pa.array([float(i) for i in range(100)]),
            }
        )
        write_deltalake(EVENTS, rows, mode="append", partition_by=["date", "city"])
        if day == DAYS // 2:
            DeltaTable(EVENTS).create_checkpoint()
    DeltaTable(EVENTS).delete("date = '2026-01-05'")


def say(text: str) -> None:
    """Head a step of the demo."""
    console.print()
    console.print(Rule(f"[bold]{text}[/]", align="left"))


def show(*words: str) -> None:
    """Run a command of the command line, as a user would."""
    console.print(f"[bold cyan]$ headrace {' '.join(map(_quoted, words))}[/]", soft_wrap=True)
    command = [sys.executable, "-m", "headrace", *words]
    subprocess.run(command, check=True)  # noqa: S603  (our own words)


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


def check() -> None:
    """Headrace and delta-rs must agree, file by file."""
    started = time.perf_counter()
    ours = {(f.uri, f.size_bytes) for f in headrace.Table(str(EVENTS)).snapshot().scan()}
    elapsed_ms = (time.perf_counter() - started) * 1000
    actions = pa.table(DeltaTable(EVENTS).get_add_actions(flatten=True)).to_pylist()
    theirs = {(f"{EVENTS.resolve()}/{a['path']}", a["size_bytes"]) for a in actions}
    if {uri for uri, _ in ours} != set(DeltaTable(EVENTS).file_uris()):
        sys.exit("Headrace and delta-rs disagree on the live files")
    total = sum(size for _, size in ours)
    if total != sum(size for _, size in theirs):
        sys.exit("Headrace and delta-rs disagree on the bytes")
    console.print(
        f"[green]✓[/] {len(ours)} live files, {total:,} bytes, in {elapsed_ms:.1f} ms; "
        "delta-rs says the same"
    )


def main() -> None:
    """Run the demo."""
    say(f"A small lake: {DAYS} commits, a checkpoint in the middle, one day deleted")
    with console.status("writing with delta-rs …"):
        make_lake()
    show("snapshot", str(EVENTS))
    say("The newest files, before the log is read to its end")
    show("files", str(EVENTS), "--limit", "4")
    say("One partition: files that cannot matter are never shown")
    show("files", str(EVENTS), "--where", "date = '2026-02-01' AND city <> 'Bern'")
    say("Statistics: only files that may hold the row")
    show("files", str(EVENTS), "--where", "id = 1234", "--format", "paths")
    say("The table as it was")
    show("files", str(EVENTS), "--version", "2", "--limit", "2")
    say("What happens behind an answer")
    show("explain", str(EVENTS), "--where", "city = 'Bern'")
    say("Is it true?")
    check()


if __name__ == "__main__":
    main()
