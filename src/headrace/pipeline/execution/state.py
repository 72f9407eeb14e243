"""The state of a project between runs: its folders, and the newest result of each view."""

from collections.abc import Collection
from pathlib import Path

import msgspec

from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import LastResult
from headrace.pipeline.output.pending import Intents
from headrace.pipeline.runs.store import STORE, ArtifactStore
from headrace.storage.location import local_root


class ProjectState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a project keeps what it made."""

    outputs: Path
    folder: Path

    @classmethod
    def of(cls, root: Path, *, outputs: str, state: str) -> "ProjectState":
        """The folders that a project's file names, relative to its own."""
        return cls(outputs=_below(root, outputs), folder=_below(root, state))

    @property
    def store(self) -> ArtifactStore:
        """The records of runs."""
        return ArtifactStore(self.folder / STORE)

    @property
    def intents(self) -> Intents:
        """What runs are about to write."""
        return Intents(self.folder / "intents")

    @property
    def staging(self) -> Path:
        """The folder of tables that last as long as a run."""
        return self.folder / "staging"

    def last_results(self, views: Collection[str]) -> dict[str, LastResult]:
        """By view, its newest result, with the plan that led to it."""
        bundles: dict[str, Bundle] = {}
        found = {}
        store = self.store
        runs = {run.id: run.bundle for run in store.runs()}
        for view, (run, record) in store.last_results(views).items():
            if run not in runs:
                continue
            bundle_id = runs[run]
            if bundle_id not in bundles:
                bundles[bundle_id] = store.bundle(bundle_id)
            plan = bundles[bundle_id].views.get(view)
            if plan is not None:
                found[view] = LastResult(run=run, record=record, plan=plan)
        return found


def _below(root: Path, place: str) -> Path:
    return Path(local_root(place)) if "://" in place else (root / place).resolve()
