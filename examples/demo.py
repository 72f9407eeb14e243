"""The demo: a small lake, its files as a stream, and a pinned pipeline over them on Spark.

Everything happens in `demo-lake/`, which is recreated each time.
"""

import shutil
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule

import headrace
from headrace.pipeline import Project

LAKE = Path("demo-lake")
EVENTS = LAKE / "events"
PROJECT = LAKE / "cities"
FIRST_DAY = date(2026, 1, 1)
DAYS = 40
CITIES = ("Bern", "Basel", "Genève", "Zürich")
CANTON_OF = ("BE", "BS", "GE", "ZH")
POPULATION = (134_000, 174_000, 203_000, 427_000)

console = Console(highlight=False)


def make_lake() -> None:
    """Write forty days of events in forty commits, with a checkpoint, and delete one day."""
    shutil.rmtree(LAKE, ignore_errors=True)
    for day in range(DAYS):
        add_day(EVENTS, day)
        if day == DAYS // 2:
            DeltaTable(EVENTS).create_checkpoint()
    DeltaTable(EVENTS).delete("date = '2026-01-05'")


def add_day(table: Path, day: int) -> None:
    """Append a day of events, in one commit."""
    rows = pa.table(
        {
            "id": pa.array(range(day * 100, day * 100 + 100), pa.int64()),
            "date": pa.array([FIRST_DAY + timedelta(days=day)] * 100, pa.date32()),
            "city": pa.array([CITIES[i % len(CITIES)] for i in range(100)]),
            "amount": pa.array([float(i) for i in range(100)]),
        }
    )
    write_deltalake(table, rows, mode="append", partition_by=["date", "city"])


def make_project() -> None:
    """Create a project with its own lake: the events, which will grow, and a second table."""
    shutil.copytree(Path(__file__).parent / "cities", PROJECT)
    shutil.copytree(EVENTS, PROJECT / "lake" / "events")
    cantons = pa.table(
        {"city": CITIES, "canton": CANTON_OF, "population": pa.array(POPULATION, pa.int32())}
    )
    write_deltalake(PROJECT / "lake" / "cantons", cantons)


def say(text: str) -> None:
    """Print the heading of a step."""
    console.print()
    console.print(Rule(f"[bold]{text}[/]", align="left"))


def show(*words: str) -> None:
    """Run a command as a user would."""
    console.print(f"[bold cyan]$ headrace {' '.join(map(_quoted, words))}[/]", soft_wrap=True)
    command = [sys.executable, "-m", "headrace", *words]
    subprocess.run(command, check=True)  # noqa: S603  (our own words)


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


def check() -> None:
    """Check that Headrace and delta-rs agree, file by file."""
    ours = {(f.uri, f.size_bytes) for f in headrace.Table(str(EVENTS)).snapshot().scan()}
    actions = pa.table(DeltaTable(EVENTS).get_add_actions(flatten=True)).to_pylist()
    theirs = {(f"{EVENTS.resolve()}/{a['path']}", a["size_bytes"]) for a in actions}
    if {uri for uri, _ in ours} != set(DeltaTable(EVENTS).file_uris()):
        sys.exit("Headrace and delta-rs disagree on the live files")
    total = sum(size for _, size in ours)
    if total != sum(size for _, size in theirs):
        sys.exit("Headrace and delta-rs disagree on the bytes")
    console.print(f"[green]✓[/] {len(ours)} live files, {total:,} bytes; delta-rs says the same")


def stream_files() -> None:
    """The first half: a lake, and its files."""
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


def run_pipeline() -> None:
    """The second half: views over the lake, run on Spark, each run pinned."""
    project = str(PROJECT)
    say("A pipeline: views over the lake, planned before anything runs")
    make_project()
    show("plan", project)
    say("Run it on Spark")
    show("run", project)
    say("Run it again: nothing has changed, nothing is computed")
    show("run", project)
    say("A day of February arrives")
    add_day(PROJECT / "lake" / "events", DAYS)
    console.print(f"one more commit in {PROJECT / 'lake' / 'events'}")
    show("why", "february", project)
    say("February runs, and what reads it; January is skipped")
    show("run", project)
    first = Project.load(PROJECT).runs()[-1].id
    say("The first run again, from the files it read: the same rows?")
    show("replay", first, project)
    say("All of it on one page")
    show("docs", project)


def main() -> None:
    """Run the demo."""
    stream_files()
    run_pipeline()
    page = (PROJECT / "headrace.html").resolve()
    console.print()
    console.print(
        Panel.fit(
            f"The page: [bold]{page.as_uri()}[/]\n"
            f"The views: {PROJECT / 'views'}: change one, ask why, run again",
            title="Have a look",
            border_style="green",
        )
    )


if __name__ == "__main__":
    main()
