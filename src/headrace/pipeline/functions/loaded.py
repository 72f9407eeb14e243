"""Checks that loaded modules still have the source that they were loaded from.

The name and the file of a module enter; whether it is current leaves. Modules of a project are
loaded again with it. A package without a version stays loaded: if its source is edited meanwhile,
the process runs other code than the source shows.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from headrace.pipeline.functions.distribution import is_installed
from headrace.pipeline.functions.opened import digest_file

_STARTED_NS = time.time_ns()
_digests: dict[str, tuple[ModuleType, str]] = {}
"""The modules that were imported while they were watched, with the digests of their source."""


@contextmanager
def watched_imports() -> Iterator[None]:
    """Remember the source of the modules without a version that are imported in this block."""
    before = {*sys.modules}
    try:
        yield
    finally:
        for name in {*sys.modules} - before:
            if name.partition(".")[0] not in sys.stdlib_module_names:
                _remember(name)


def _remember(name: str) -> None:
    module = sys.modules[name]
    file = getattr(module, "__file__", None)
    if file is not None and not is_installed(Path(file)):
        with suppress(OSError):
            _digests[name] = module, digest_file(Path(file))


def is_current(name: str, file: Path) -> bool:
    """Return whether a module is not loaded, or is proven to be loaded from its current source."""
    module = sys.modules.get(name)
    if module is None:
        return True
    watched, digest = _digests.get(name, (None, ""))
    if watched is module:
        return digest == digest_file(file)
    return file.stat().st_mtime_ns < _STARTED_NS
