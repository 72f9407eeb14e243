"""Stores that behave differently on a worker than on the driver. They are pickled by value."""

import os
import sys
import time
from collections.abc import Iterator

from pyspark import cloudpickle

from headrace.plan.batch import Batch
from headrace.plan.executor import Executor
from headrace.plan.node import Node
from headrace.storage.local import LocalStore

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


class SlowAbroad(LocalStore):
    """Is slow for one file in every process but the one that created the store."""

    def __init__(self, root: str, *, name: str, seconds: float) -> None:
        super().__init__(root)
        self.home, self.name, self.seconds = os.getpid(), name, seconds

    def local_path(self, path: str) -> str | None:
        if os.getpid() != self.home and path.endswith(self.name):
            time.sleep(self.seconds)
        return super().local_path(path)


class BrokenAbroad(LocalStore):
    """Fails in every process but the one that created the store."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.home = os.getpid()

    def local_path(self, path: str) -> str | None:
        if os.getpid() != self.home:
            raise RuntimeError("no store on this machine")
        return super().local_path(path)


class FailsOnce(LocalStore):
    """Kills the first worker that opens a certain file; later attempts succeed."""

    def __init__(self, root: str, *, name: str, marker: str) -> None:
        super().__init__(root)
        self.home, self.name, self.marker = os.getpid(), name, marker

    def local_path(self, path: str) -> str | None:
        if os.getpid() != self.home and path.endswith(self.name):
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os._exit(1)
        return super().local_path(path)


class NoExecutor(Executor):
    """An executor that runs no plan."""

    def execute(self, plan: Node) -> Iterator[Batch]:
        raise NotImplementedError(plan)
