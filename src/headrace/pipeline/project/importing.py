"""Imports the Python files of a project, always from their current source.

Python detects stale bytecode by the modification second and the size of a file. It can miss a quick
edit, and a result would then be stored under the fingerprint of code that has not run.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from headrace.errors import InvalidViewError
from headrace.pipeline.functions.called_import import replaceable, take_modules
from headrace.pipeline.functions.loaded import watched_imports

MODULE_PREFIX = "headrace_project_"
_CODE = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
_PACKAGES = frozenset({"site-packages", "dist-packages"})


class Loaded(NamedTuple):
    """A Python file that has been imported."""

    module: ModuleType
    imported: Mapping[str, ModuleType]
    """The modules of the project that it has imported, by name."""


def load_module(file: Path, root: Path) -> Loaded:
    """Import a Python file of a project; it can import other modules of the project by name.

    Raises:
        InvalidViewError: the import fails.
    """
    name = MODULE_PREFIX + file.relative_to(root).with_suffix("").as_posix().replace("/", "_")
    spec = spec_from_file_location(name, file, loader=_UncachedLoader(name, str(file)))
    assert spec is not None, "an existing file has a spec"
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # so that its functions can be pickled
    try:
        with watched_imports(), _importable(root) as imported:
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        reason = f"it cannot be imported: {type(error).__name__}: {error}"
        raise InvalidViewError(file=str(file), line=None, reason=reason) from error
    return Loaded(module, imported)


class _UncachedLoader(SourceFileLoader):
    """Compiles modules from source; bytecode is neither read nor written."""

    def path_stats(self, path: str) -> dict[str, float]:
        """Fail, so that no bytecode is used."""
        raise OSError(path)


class _ProjectFinder(MetaPathFinder):
    """Finds the modules below a project's folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the project; None for any other."""
        del target
        for folder in [str(self._root)] if path is None else path:
            if not _is_below(Path(folder), self._root):
                continue
            loaders = (ExtensionFileLoader, EXTENSION_SUFFIXES), (_UncachedLoader, SOURCE_SUFFIXES)
            spec = FileFinder(folder, *loaders).find_spec(fullname)
            if spec is not None and spec.loader is not None:
                return spec
        return None


@contextmanager
def _importable(root: Path) -> Iterator[dict[str, ModuleType]]:
    """Let a project's modules import each other; yield a mapping that they move to afterwards."""
    finder, path = _ProjectFinder(root), str(root)
    # The process may have imported them from an older source, or from elsewhere.
    hidden = take_modules(replaceable(_importable_names(root)))
    previous_modules = set(sys.modules)
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, path)
    imported: dict[str, ModuleType] = {}
    try:
        yield imported
    finally:
        sys.path.remove(path)
        sys.meta_path.remove(finder)
        for name in _modules_below(root) - previous_modules:
            imported[name] = sys.modules.pop(name)
        sys.modules.update(hidden)


def _modules_below(root: Path) -> set[str]:
    """Return the names of the modules that were imported from a project's folder."""
    prefix = str(root / "_")[:-1]
    files = {name: getattr(module, "__file__", None) for name, module in [*sys.modules.items()]}
    below = {name: file for name, file in files.items() if file and file.startswith(prefix)}
    return {
        name
        for name, file in below.items()
        if not name.startswith(MODULE_PREFIX) and _is_below(Path(file), root)
    }


def _importable_names(root: Path) -> set[str]:
    """Return the names under which a project can import modules: those directly in its folder."""
    return {
        entry.name.partition(".")[0]
        for entry in os.scandir(root)
        if entry.is_dir() or entry.name.endswith(_CODE)
    }


def _is_below(path: Path, root: Path) -> bool:
    """Return whether a path is in a project's folder, outside a virtual environment in it."""
    return path.is_relative_to(root) and not _PACKAGES & {*path.relative_to(root).parts}
