"""Draw the results: one SVG, and the table in README.md, both from the JSON of `run`.

The SVG is generated as plain text: bars on a logarithmic scale, readable on light and dark
backgrounds.
"""

import argparse
import json
import math
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.cases import ANSWERING, DELTALAKE, DUCKDB, HEADRACE, TITLES, case_named
from benchmarks.lake import ROOT
from benchmarks.report import floor_table
from benchmarks.run import RESULTS
from benchmarks.target import Best, Measure

Result: TypeAlias = dict[str, Any]
"""The JSON of one run."""

README = ROOT / "README.md"
SVG_NAME = "benchmark.svg"
START, END = "<!-- benchmark:start -->", "<!-- benchmark:end -->"
SHOWN = ("first", "limit", "partition", "partition-hashed", "count", "arrow", "predicate")
"""The cases to draw, in order."""

_LEFT, _WIDTH, _RIGHT, _TOP, _BAR, _GAP = 250, 480, 90, 64, 14, 16
_ENDED = 'text-anchor="end"'
_STYLE = """
  .ground { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e }
  .grid { stroke: #d1d9e0 }
  .headrace_scan { fill: #0969da } .deltalake_table { fill: #bc4c00 } .duckdb_sql { fill: #818b98 }
  text { font: 12px system-ui, sans-serif }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .text { fill: #f0f6fc } .faint { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .headrace_scan { fill: #4493f8 } .deltalake_table { fill: #f0883e }
    .duckdb_sql { fill: #818b98 }
  }
"""


def newest_results(folder: Path) -> list[Result]:
    """Return the newest result of each size, the largest first."""
    by_size: dict[int, Result] = {}
    for path in sorted(folder.glob("*.json")):
        result: Result = json.loads(path.read_text(encoding="utf-8"))
        by_size[result["files"]] = result
    return [by_size[size] for size in sorted(by_size, reverse=True)]


def draw_svg(result: Result) -> str:
    """Draw the warm times of one run as bars."""
    times = warm_times(result)
    longest = max(time for bars in times.values() for time in bars.values())
    decades = max(1, math.ceil(math.log10(max(longest, 1))))
    body, y = list(_legend(result["files"])), float(_TOP)
    for case, bars in times.items():
        label = escape(case_named(case).title)
        middle = y + len(bars) * _BAR / 2 + 4
        body.append(f'<text class="text" x="{_LEFT - 10}" y="{middle}" {_ENDED}>{label}</text>')
        for contestant, time_ms in bars.items():
            width = max(2.0, _WIDTH * math.log10(max(time_ms, 1)) / decades)
            body.append(
                f'<rect class="{contestant}" x="{_LEFT}" y="{y}" width="{width:.1f}"'
                f' height="{_BAR - 3}"><title>{TITLES[contestant]}</title></rect>'
                f'<text class="faint" x="{_LEFT + width + 5:.1f}" y="{y + 10}">'
                f"{duration(time_ms)}</text>"
            )
            y += _BAR
        y += _GAP
    size = f"{_LEFT + _WIDTH + _RIGHT} {y + 12:.0f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img">',
        f"<title>{_caption(result['files'])}</title>",
        f"<style>{_STYLE}</style>",
        '<rect class="ground" width="100%" height="100%"/>',
        *_axis(decades, y),
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _legend(files: int) -> Iterator[str]:
    yield f'<text class="text" x="{_LEFT}" y="20">{_caption(files)}</text>'
    for index, contestant in enumerate(ANSWERING):
        x = _LEFT + index * 120
        yield f'<rect class="{contestant}" x="{x}" y="30" width="11" height="11"/>'
        yield f'<text class="text" x="{x + 16}" y="40">{TITLES[contestant]}</text>'


def _caption(files: int) -> str:
    return f"Time to the answer, {files:,} files, logarithmic scale"


def _axis(decades: int, bottom: float) -> Iterator[str]:
    for decade in range(decades + 1):
        x = _LEFT + _WIDTH * decade / decades
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{bottom - 8}"/>'
        yield (
            f'<text class="faint" x="{x:.1f}" y="{bottom + 6}" text-anchor="middle">'
            f"{duration(10**decade)}</text>"
        )


def warm_times(result: Result) -> dict[str, dict[str, float]]:
    """Return the minimum warm time of each drawn case, by contestant."""
    times: dict[str, dict[str, float]] = {case: {} for case in SHOWN}
    for measured in result["measurements"]:
        if measured["case"] in times and measured["contestant"] in ANSWERING:
            least = min(sample["warm_ms"] for sample in measured["samples"])
            times[measured["case"]][measured["contestant"]] = least
    return {case: bars for case, bars in times.items() if HEADRACE in bars}


def write_tables(results: list[Result]) -> str:
    """Return the text between the markers in README.md."""
    parts = [f"![Time to the answer](benchmarks/results/{SVG_NAME})"]
    for result in results:
        machine, versions = result["machine"], result["versions"]
        parts.append(
            f"{result['files']:,} files in the checkpoint, 50 commits after it; fresh processes, "
            f"imports not counted, least of up to {result['repeats']}; {machine['threads']} cores "
            f"({machine['processor']}), deltalake {versions['deltalake']}, DuckDB "
            f"{versions['duckdb']}, {result['date']}."
        )
        parts.append("\n".join(_table(result)))
        parts.append(
            "CPU time compared with the floors: decoding the needed columns with pyarrow, and only "
            "reading and decompressing them."
        )
        parts.append("\n".join(floor_table(_best(result))))
    parts.append("`make bench` measures it again, here: see [benchmarks](benchmarks/README.md).")
    return "\n\n".join(parts)


def _table(result: Result) -> Iterator[str]:
    peers = (DELTALAKE, DUCKDB)
    heads = " | ".join(f"{TITLES[peer]} | x" for peer in peers)
    yield f"| | {TITLES[HEADRACE]} | {heads} |"
    yield "|---|--:|--:|--:|--:|--:|"
    for case, bars in warm_times(result).items():
        best = min(bars.values())
        shown = {
            name: f"**{duration(time)}**" if time == best else duration(time)
            for name, time in bars.items()
        }
        cells = [case_named(case).title, shown[HEADRACE]]
        for peer in peers:
            cells.append(shown.get(peer, ""))
            cells.append(times_text(bars[peer] / bars[HEADRACE]) if peer in bars else "")
        yield f"| {' | '.join(cells)} |"


def _best(result: Result) -> Best:
    """Return the minimum of each measure, as `Report.best` does."""
    return {
        (measured["case"], measured["contestant"], measure): min(values)
        for measured in result["measurements"]
        for measure in Measure
        if (values := [s[measure] for s in measured["samples"] if s[measure] is not None])
    }


def duration(time_ms: float) -> str:
    """Format a time in a suitable unit, with at least two significant digits."""
    value, unit = (time_ms / 1000, "s") if time_ms >= 1000 else (time_ms, "ms")
    return f"{value:,.0f} {unit}" if value >= 10 or value == 1 else f"{value:.1f} {unit}"


def times_text(ratio: float) -> str:
    """Format a ratio with at least two significant digits."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def insert(text: str, block: str) -> str:
    """Return the text with the block inserted between its markers.

    Raises:
        ValueError: A marker is missing.
    """
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        msg = f"put the lines {START} and {END} where the table belongs"
        raise ValueError(msg)
    return f"{before}{START}\n{block}\n{END}{after}"


def main() -> None:
    """Draw the newest results, and put their table into README.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plot", description=main.__doc__)
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="folder of the JSON (default: that of run)"
    )
    parser.add_argument(
        "--readme", type=Path, default=README, help="file with the markers (default: README.md)"
    )
    chosen = parser.parse_args()
    results = newest_results(chosen.results)
    if not results:
        parser.error(f"no results in {chosen.results}: run `make bench` first")
    text = chosen.readme.read_text(encoding="utf-8")
    chosen.readme.write_text(insert(text, write_tables(results)), encoding="utf-8")
    (chosen.results / SVG_NAME).write_text(draw_svg(results[0]), encoding="utf-8")


if __name__ == "__main__":
    main()
