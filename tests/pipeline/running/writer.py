"""A process that repeatedly appends to one table, through our commits or through deltalake.

It prints the versions that it created.
"""

import sys
from pathlib import Path

from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from tests.pipeline.running.output import Output, rows


def main() -> None:
    kind, folder, name, count = sys.argv[1:]
    table = Path(folder) / "t"
    append = _append_ours if kind == "ours" else _append_theirs
    sys.stdout.write(" ".join(str(append(table, name, turn)) for turn in range(int(count))))


def _append_ours(table: Path, name: str, turn: int) -> int:
    output = Output(table, state=table.parent / f"state-{name}")
    return output.append(rows((turn, "a", name)), run=f"{name}-{turn}").version


def _append_theirs(table: Path, name: str, turn: int) -> int:
    while True:
        opened = DeltaTable(table)
        try:
            write_deltalake(opened, rows((turn, "a", name)), mode="append")
        except CommitFailedError:
            continue
        return opened.version()


if __name__ == "__main__":
    main()
