"""A project with its sources, outputs and state in a store.

`python -m tests.pipeline.running.remote_project FOLDER` runs the project in a folder until the
first commit of the view `log` is about to be created, and stops itself there.
"""

import signal
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import write_deltalake

from headrace import Table, wiring
from headrace.pipeline import Project
from headrace.pipeline.runs.run_record import RunRecord
from headrace.storage.store import PutMode
from tests.emulator.place import Place

VIEWS = {
    "log": (
        "-- @materialise output\n-- @write append\n-- @append all\nSELECT id, day FROM orders\n"
    ),
    "latest": (
        "-- @materialise output\n-- @write merge\n-- @keys day\n-- @change_feed true\n"
        "SELECT day, max(id) AS top FROM orders GROUP BY day\n"
    ),
    "by_year": (
        "-- @materialise output\n-- @write overwrite_partitions\n-- @partition_by year\n"
        "SELECT id, year FROM orders\n"
    ),
    "kept": "-- @materialise staging\nSELECT id FROM orders\n",
    "total": "-- @materialise output\nSELECT sum(id) AS total FROM kept\n",
}
OUTPUTS = ("by_year", "latest", "log", "total")
FIRST = pa.table({"id": [1, 2, 3, 4], "day": [1, 1, 2, 2], "year": [2023, 2023, 2024, 2024]})
MORE = pa.table({"id": [5, 6], "day": [2, 3], "year": [2024, 2025]})
"""The rows that a second run adds."""
AFTER_MORE = {
    "by_year": sorted(
        repr({"id": n, "year": y})
        for n, y in ((1, 2023), (2, 2023), (3, 2024), (4, 2024), (5, 2024), (6, 2025))
    ),
    "latest": sorted(repr({"day": d, "top": t}) for d, t in ((1, 2), (2, 5), (3, 6))),
    "total": ["{'total': 21}"],
}
"""The rows of the other outputs after the second run."""
APPENDED = [repr({"id": n, "day": d}) for n, d in ((1, 1), (2, 1), (3, 2), (4, 2))]
"""The rows of the view `log` after one run."""
APPENDED_TWICE = sorted([*APPENDED * 2, *(repr({"id": n, "day": n - 3}) for n in (5, 6))])


class RemoteProject:
    """A project whose folder holds only its text."""

    def __init__(
        self,
        place: Place,
        folder: Path,
        *,
        prefix: str,
        lease_seconds: int = 60,
        views: dict[str, str] | None = None,
    ) -> None:
        self.place, self.folder, self.prefix = place, folder, prefix
        (folder / "views").mkdir(parents=True)
        for name, text in (VIEWS if views is None else views).items():
            (folder / "views" / f"{name}.sql").write_text(text)
        self.write_source(FIRST, mode="overwrite")
        options = "\n".join(f'{name} = "{value}"' for name, value in place.options.items())
        (folder / "headrace.toml").write_text(
            f'[project]\nname = "remote"\noutputs = "{place.uri(prefix)}/out"\n'
            f'state = "{place.uri(prefix)}/state"\nlease_seconds = {lease_seconds}\n'
            f'[project.options]\n{options}\n[sources.orders]\nuri = "{place.uri(prefix)}/orders"\n'
            f"[sources.orders.options]\n{options}\n"
        )

    def write_source(self, rows: pa.Table, *, mode: Any = "append") -> None:
        lake = self.folder / "lake"
        write_deltalake(lake, rows, mode=mode)
        self.place.upload(lake, f"{self.prefix}/orders")

    def run(self, *, engine: str = "datafusion", **request: Any) -> RunRecord:
        return Project.load(self.folder).run(engine=engine, **request)

    def table(self, view: str) -> Table:
        uri = f"{self.place.uri(self.prefix)}/out/{view}"
        return Table(uri, storage_options=self.place.options)

    def rows(self) -> dict[str, list[str]]:
        return {
            view: sorted(map(repr, self.table(view).snapshot().rows().read_all().to_pylist()))
            for view in OUTPUTS
        }

    def leftovers(self) -> list[str]:
        """Return output files that no commit references, staging tables, and open intents."""
        store = self.place.store(self.prefix)
        named = {
            unquote(change.uri.partition(f"{self.prefix}/")[2])
            for view in OUTPUTS
            for change in self.table(view).changes(0)
        }
        data = {f.path for f in store.list_tree("out") if "_delta_log" not in f.path}
        files = [
            f.path
            for folder in ("state/staging", "state/intents", "state/clock")
            for f in store.list_tree(folder)
        ]
        return sorted((data - named) | set(files))


class _Stopping:
    """A store that stops its process before it creates a commit of the view `log`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def put(self, path: str, content: bytes, *, mode: PutMode) -> None:
        if self._inner.root.endswith("out/log") and path.startswith("_delta_log/"):
            # Signal this thread: a signal to the process may arrive in another thread, and later.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        self._inner.put(path, content, mode=mode)


def _stop_at_the_commit(folder: str) -> None:
    open_store = wiring.open_writable_store

    def stopping(uri: str, **options: Any) -> Any:
        return _Stopping(open_store(uri, **options))

    wiring.open_writable_store = stopping
    record = Project.load(Path(folder)).run(engine="datafusion")
    failures = {view.failure.code for view in record.views.values() if view.failure}
    print(*sorted(failures))  # noqa: T201


if __name__ == "__main__":
    _stop_at_the_commit(sys.argv[1])
