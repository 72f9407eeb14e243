"""Gives functions the modules of their project that they import while they are called.

The sources of a project's modules enter; during a call, an import statement returns modules made of
them. Otherwise it would return whatever the process had imported under that name before, perhaps
from an older source than the one that the function's fingerprint has.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from threading import RLock
from types import CodeType, ModuleType
from typing import Any
from uuid import uuid4
from weakref import finalize

import msgspec

from headrace.pipeline.functions.distribution import is_installed

_lock = RLock()
_modules: dict[str, dict[str, ModuleType]] = {}
"""The modules of each project that has been loaded, by the token of the load."""


class ModuleSource(msgspec.Struct, frozen=True):
    """The source of a module."""

    file: str
    text: str


class CalledImports:
    """The modules that the functions of one project can import while they are called.

    It pickles, so that functions take their modules to the workers of Spark.
    """

    def __init__(
        self, sources: Mapping[str, ModuleSource], modules: Mapping[str, ModuleType]
    ) -> None:
        """Take modules.

        Args:
            sources: The sources, by the name of the module.
            modules: The modules that were imported while the project was loaded.
        """
        self._sources, self._token = dict(sources), uuid4().hex
        _modules[self._token] = dict(modules)
        finalize(self, _modules.pop, self._token, None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the sources; a worker makes the modules that it needs once."""
        return _unpickle, (self._sources, self._token)

    @contextmanager
    def available(self) -> Iterator[None]:
        """Make the modules importable in this block; one block is open at a time."""
        finder = _SourceFinder(self._sources)
        with _lock:
            own = _modules.setdefault(self._token, {})
            tops = replaceable({name.partition(".")[0] for name in self._sources})
            others = take_modules(tops)
            sys.modules.update({n: m for n, m in own.items() if n.partition(".")[0] in tops})
            sys.meta_path.insert(0, finder)
            try:
                yield
            finally:
                sys.meta_path.remove(finder)
                own.update(take_modules(tops))
                sys.modules.update(others)

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that can import the modules while it runs."""

        @wraps(function)
        def run(*arguments: Any) -> Any:
            with self.available():
                return function(*arguments)

        return run


def _unpickle(sources: Mapping[str, ModuleSource], token: str) -> CalledImports:
    imports = CalledImports.__new__(CalledImports)
    imports._sources, imports._token = dict(sources), token  # noqa: SLF001  (its constructor)
    return imports


def take_modules(tops: Collection[str]) -> dict[str, ModuleType]:
    """Remove the modules below some names from those of the process, and return them."""
    names = [name for name in [*sys.modules] if name.partition(".")[0] in tops]
    return {name: sys.modules.pop(name) for name in names}


def replaceable(tops: Collection[str]) -> set[str]:
    """Return the names under which the process has no module of Python or an installed package.

    Those modules remain: a project's own module of such a name is not imported.
    """
    return {top for top in tops if top not in sys.modules or not _is_installed(sys.modules[top])}


def _is_installed(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    places = [file] if file else [*getattr(module, "__path__", ())]
    is_standard = module.__name__ in sys.stdlib_module_names
    return is_standard or any(is_installed(Path(place)) for place in places)


class _SourceFinder(MetaPathFinder):
    """Finds modules in a mapping of sources; folders without `__init__` are namespaces."""

    def __init__(self, sources: Mapping[str, ModuleSource]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module; None if there is no source of it."""
        del path, target
        source = self._sources.get(fullname)
        if source is None:
            is_namespace = any(name.startswith(f"{fullname}.") for name in self._sources)
            return ModuleSpec(fullname, None, is_package=True) if is_namespace else None
        return spec_from_file_location(
            fullname, source.file, loader=_SourceLoader(fullname, source)
        )


class _SourceLoader(SourceFileLoader):
    """Executes the source of a module, which its file may no longer have."""

    def __init__(self, name: str, source: ModuleSource) -> None:
        super().__init__(name, source.file)
        self._text = source.text

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source; bytecode is neither read nor written."""
        del fullname
        return compile(self._text, self.path, "exec", dont_inherit=True)
