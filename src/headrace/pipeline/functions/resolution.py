"""Where a module comes from: the project, a package that is installed, or somewhere else."""

import importlib.util
import json
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import metadata
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path

import msgspec

from headrace.pipeline.functions.module import Module

_OWN = "headrace"
NOT_INSTALLED = "not installed"
_LOADERS = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourceFileLoader, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)
_CODE = (".py", ".so", ".pyd", ".pyc")


class Installed(msgspec.Struct, frozen=True):
    """A module of Python itself or of a distribution: its version stands for it."""

    package: str
    version: str


class Unversioned(msgspec.Struct, frozen=True):
    """A module from outside the project that no version stands for: its files do."""

    module: str
    files: tuple[Path, ...]


class Compiled(msgspec.Struct, frozen=True):
    """A module of the project that has no text: its bytes stand for it."""

    name: str
    file: Path


Origin = Module | Compiled | Installed | Unversioned


class Resolver:
    """Finds the modules of one project."""

    def __init__(self, root: Path, *, package: str | None = None) -> None:
        """Take the folder that modules are imported from.

        Args:
            root: The folder.
            package: The only package of it that is followed; by default all that is there.
        """
        self.root, self.package = root, package
        self._tops: dict[str, Installed | Unversioned] = {}
        self._finders: dict[str, FileFinder] = {}
        self._origins: dict[str, Origin | None] = {}
        self._specs: dict[str, ModuleSpec | None] = {}
        self._inside: dict[Path, Path] = {}

    def absolute(self, importer: Module, written: str) -> str | None:
        """The full name of a module as another one writes it; None if there is no such place."""
        dots = len(written) - len(written.lstrip("."))
        if not dots:
            return written
        parts = importer.name.split(".") if importer.name else []
        if importer.file.name != "__init__.py":
            parts = parts[:-1]
        if dots - 1 > len(parts):
            return None
        base = parts[: len(parts) - (dots - 1)]
        return ".".join([*base, *([written.lstrip(".")] if written.lstrip(".") else [])])

    def find(self, name: str) -> Origin | None:
        """Where a module comes from; None for a namespace package of the project."""
        if name not in self._origins:
            spec = self._project_spec(name)
            self._origins[name] = self._outside(name) if spec is None else self._of(name, spec)
        return self._origins[name]

    def _outside(self, name: str) -> Origin:
        top = name.partition(".")[0]
        if top != name and self.is_own(top):
            return Installed(name, NOT_INSTALLED)
        if top not in self._tops:
            self._tops[top] = find_outside(top)
        return self._tops[top]

    def is_own(self, name: str) -> bool:
        """Whether a module is one of the project."""
        return self._project_spec(name) is not None

    def module(self, file: Path) -> Module:
        """A file of the project, parsed."""
        relative = self.inside(file).with_suffix("")
        parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
        return parse_module(file, ".".join(parts))

    def inside(self, file: Path) -> Path:
        """The path of a file below the project; only its name if it lies elsewhere."""
        if file not in self._inside:
            resolved, root = file.resolve(), self.root.resolve()
            is_inside = resolved.is_relative_to(root)
            self._inside[file] = resolved.relative_to(root) if is_inside else Path(file.name)
        return self._inside[file]

    def shadows(self, name: str) -> Installed | None:
        """The module of Python or of a distribution that has the name of a project's own.

        Which of the two an import gives depends on what the process has imported already.
        """
        top = name.partition(".")[0]
        is_there = top in sys.stdlib_module_names or top in sys.modules
        outside = self._outside(top) if is_there else None
        return outside if isinstance(outside, Installed) else None

    def _project_spec(self, name: str) -> ModuleSpec | None:
        if name not in self._specs:
            self._specs[name] = self._find_spec(name)
        return self._specs[name]

    def _find_spec(self, name: str) -> ModuleSpec | None:
        path = [str(self.root)]
        spec = None
        if self.package is not None and name.partition(".")[0] != self.package:
            return None
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            spec = self._spec(".".join(parts[:end]), path)
            if spec is None:
                return None
            path = list(spec.submodule_search_locations or ())
            if end < len(parts) and not path:
                return None
        return spec

    def _spec(self, name: str, path: list[str]) -> ModuleSpec | None:
        specs = (self._finder(folder).find_spec(name) for folder in path)
        return next((spec for spec in specs if spec is not None), None)

    def _finder(self, folder: str) -> FileFinder:
        # Finders that are shared with the process miss files that were made a moment ago.
        if folder not in self._finders:
            self._finders[folder] = FileFinder(folder, *_LOADERS)
        return self._finders[folder]

    def _of(self, name: str, spec: ModuleSpec) -> Origin | None:
        if spec.origin is None or not Path(spec.origin).is_file():
            return None
        file = Path(spec.origin)
        if file.suffix == ".py":
            with suppress(SyntaxError, ValueError):
                return parse_module(file, name)
        return Compiled(name, file)


_parsed: dict[tuple[Path, str], tuple[bytes, Module]] = {}


def parse_module(file: Path, name: str) -> Module:
    """Parse a module, once as long as its text stays the same.

    Raises:
        SyntaxError, ValueError, OSError: it cannot be read as Python.
    """
    data = file.read_bytes()  # times and sizes miss a quick edit
    known = _parsed.get((file, name))
    if known is None or known[0] != data:
        text = importlib.util.decode_source(data)
        known = _parsed[file, name] = data, Module(file=file, name=name, text=text)
    return known[1]


def find_outside(name: str) -> Installed | Unversioned:
    """Where a module comes from that the project does not have."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return Installed("python", f"{sys.version_info.major}.{sys.version_info.minor}")
    if top == _OWN:
        return Installed(_OWN, metadata.version(_OWN))
    spec = _outside_spec(top)
    if spec is None:
        return Installed(top, NOT_INSTALLED)
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    files = [Path(place) for place in places if place and Path(place).exists()]
    if files and all(_is_installed(file) for file in files):
        for distribution in _distributions_of(top):
            return Installed(distribution, _version(distribution))
    if files and files[0].name == "__init__.py":
        files[0] = files[0].parent
    return Unversioned(top, tuple(files))


def _outside_spec(top: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return None


@cache
def _site_folders() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    return tuple(Path(folder).resolve() for folder in [*folders, site.getusersitepackages()])


def _is_installed(file: Path) -> bool:
    resolved = file.resolve()
    return any(resolved.is_relative_to(folder) for folder in _site_folders())


@cache
def _distributions_of(module: str) -> tuple[str, ...]:
    """The distributions that have a module; that of the same name is asked first, being quick."""
    with suppress(metadata.PackageNotFoundError):
        files = metadata.distribution(module).read_text("RECORD") or ""
        if any(line.startswith((f"{module}/", f"{module}.")) for line in files.splitlines()):
            return (module,)
    return tuple(sorted(set(_providers().get(module, ()))))


@cache
def _providers() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


@cache
def _version(distribution: str) -> str:
    version = metadata.version(distribution)
    told = metadata.distribution(distribution).read_text("direct_url.json")
    commit = json.loads(told).get("vcs_info", {}).get("commit_id", "") if told else ""
    return f"{version}+{commit}" if commit else version


def every_installed() -> str:
    """One digest of all distributions and their versions."""
    names = {
        f"{found.metadata['Name']} {found.version}".casefold()
        for found in metadata.distributions()
        if found.metadata["Name"]
    }
    return sha256("\n".join(sorted(names)).encode()).hexdigest()


def code_files(folder: Path) -> Iterator[Path]:
    """The files of code below a folder, sorted; not those of tables, environments and caches."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if _may_hold_code(Path(place, name)))
        for name in sorted(files):
            if name.endswith(_CODE):
                yield Path(place, name)


def _may_hold_code(folder: Path) -> bool:
    return not (
        folder.name.startswith(".")
        or folder.name in {"__pycache__", "node_modules", "site-packages"}
        or (folder / "_delta_log").is_dir()
        or (folder / "pyvenv.cfg").is_file()
    )
