"""Intents: what a run is about to write, noted before it does, so that the next can clear it.

Files lie below their table in a folder of the run's own. Either a commit names them, or, if the
run did not live to commit, nobody ever will.
"""

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import msgspec

from headrace.pipeline.output.note import last_note
from headrace.table import Table


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that a run writes files into, for one version of a table."""

    run: str
    view: str
    table: str
    folder: str
    started_ms: int


class Intents:
    """The intents of a project, each a small file."""

    def __init__(self, folder: Path) -> None:
        """Name the folder that they are noted in."""
        self._folder = folder

    def note(self, intent: Intent) -> None:
        """Note an intent, before anything is written."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file(intent).write_bytes(msgspec.json.encode(intent))

    def settle(self, intent: Intent) -> None:
        """Forget an intent: its files are committed, or gone."""
        self._file(intent).unlink(missing_ok=True)

    def clear(self) -> list[Intent]:
        """Remove what runs left behind that are no more; gives the intents that came to nothing.

        Call it only while no other run is going on.
        """
        lost = []
        for intent in list(self._noted()):
            found = last_note(Path(intent.table))
            committed = found is not None and found.note.run == intent.run
            if not committed:
                discard(intent)
                lost.append(intent)
            self.settle(intent)
        return lost

    def _noted(self) -> Iterator[Intent]:
        for file in sorted(self._folder.glob("*.json")):
            try:
                yield msgspec.json.decode(file.read_bytes(), type=Intent)
            except msgspec.DecodeError:  # cut short by the end of its run: nothing was written yet
                file.unlink()

    def _file(self, intent: Intent) -> Path:
        return self._folder / f"{intent.run}-{intent.view}.json"


def discard(intent: Intent) -> None:
    """Remove the files of an intent that came to nothing, also those that a merge had begun."""
    rmtree(intent.folder, ignore_errors=True)
    table = Path(intent.table)
    if not (table / "_delta_log").is_dir():
        return
    known = {file.uri for file in Table(table).snapshot().scan()}
    for file in table.rglob("*.parquet"):
        is_new = file.stat().st_mtime_ns >= intent.started_ms * 1_000_000
        if is_new and "_delta_log" not in file.parts and str(file) not in known:
            file.unlink()
