"""Imports the Python files of a project, always from their current source.

Python detects stale bytecode by the modification second and the size of a file. It can miss a quick
edit, and a result would then be stored under the fingerprint of code that has not run.
"""

import sys
from collections.abc import Iterator, Sequence
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

from headrace.errors import InvalidViewError
from headrace.pipeline.functions.loaded import watched_imports

MODULE_PREFIX = "headrace_project_"
_PACKAGES = frozenset({"site-packages", "dist-packages"})


def load_module(file: Path, root: Path) -> ModuleType:
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
        with watched_imports(), _importable(root):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        reason = f"it cannot be imported: {type(error).__name__}: {error}"
        raise InvalidViewError(file=str(file), line=None, reason=reason) from error
    return module


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
def _importable(root: Path) -> Iterator[None]:
    """Let a project's modules import each other; afterwards they are removed from `sys.modules`."""
    finder, path = _ProjectFinder(root), str(root)
    hidden = {n: sys.modules[n] for n in _modules_below(root) if _is_importable(n, root)}
    for name in hidden:  # it may have been imported from an older source
        del sys.modules[name]
    previous_modules = set(sys.modules)
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)
        sys.meta_path.remove(finder)
        for name in _modules_below(root) - previous_modules:
            del sys.modules[name]
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


def _is_importable(name: str, root: Path) -> bool:
    """Return whether a project can import a module by name: it is directly in its folder."""
    top = name.partition(".")[0]
    return (root / top).is_dir() or (root / f"{top}.py").is_file()


def _is_below(path: Path, root: Path) -> bool:
    """Return whether a path is in a project's folder, outside a virtual environment in it."""
    return path.is_relative_to(root) and not _PACKAGES & {*path.relative_to(root).parts}
