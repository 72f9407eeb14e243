"""Finds where a module comes from: the project, an installed package, or elsewhere.

The name of an import enters; an `Origin` leaves. Modules of the project are parsed, so that they
can be followed; all others are identified by a version or by their bytes.
"""

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

_PACKAGE = "headrace"
NOT_INSTALLED = "not installed"
_LOADERS = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourceFileLoader, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)
_CODE = (".py", ".so", ".pyd", ".pyc", ".zip", ".whl", ".egg")
"""The suffixes of code, including archives that Python imports from."""


class Installed(msgspec.Struct, frozen=True):
    """A module of Python or of a distribution, identified by its version."""

    package: str
    version: str


class Unversioned(msgspec.Struct, frozen=True):
    """A module outside the project without a version, identified by its files."""

    module: str
    files: tuple[Path, ...]


class Compiled(msgspec.Struct, frozen=True):
    """A module of the project without source, identified by its bytes."""

    name: str
    file: Path


Origin = Module | Compiled | Installed | Unversioned


class Resolver:
    """Finds the modules that a project imports."""

    def __init__(self, root: Path, *, package: str | None = None) -> None:
        """Take the folder that modules are imported from.

        Args:
            root: The folder.
            package: The only package in it to follow; None for all.
        """
        self.root, self.package = root, package
        self._tops: dict[str, Installed | Unversioned] = {}
        self._finders: dict[str, FileFinder] = {}
        self._origins: dict[str, Origin | None] = {}
        self._specs: dict[str, ModuleSpec | None] = {}
        self._inside: dict[Path, Path] = {}

    def absolute(self, importer: Module, written: str) -> str | None:
        """Return the absolute name of an import in a module; None if it leaves the package."""
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
        """Return the origin of a module; None for a namespace package of the project."""
        if name not in self._origins:
            spec = self._project_spec(name)
            self._origins[name] = self._outside(name) if spec is None else self._of(name, spec)
        return self._origins[name]

    def _outside(self, name: str) -> Origin:
        top = name.partition(".")[0]
        if top != name and self.is_in_project(top):
            return Installed(name, NOT_INSTALLED)
        if top not in self._tops:
            self._tops[top] = find_outside(top)
        return self._tops[top]

    def is_in_project(self, name: str) -> bool:
        """Return whether a module belongs to the project."""
        return self._project_spec(name) is not None

    def module(self, file: Path) -> Module:
        """Parse a file of the project."""
        relative = self.inside(file).with_suffix("")
        parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
        return parse_module(file, ".".join(parts))

    def inside(self, file: Path) -> Path:
        """Return a file's path relative to the project; only its name if it is elsewhere.

        Links in the project are not followed: what they link to may have the same names.
        """
        if file not in self._inside:
            self._inside[file] = self._relative(file)
        return self._inside[file]

    def _relative(self, file: Path) -> Path:
        if file.is_relative_to(self.root) and ".." not in file.parts:
            return file.relative_to(self.root)
        resolved, root = file.resolve(), self.root.resolve()
        is_inside = resolved.is_relative_to(root)
        return resolved.relative_to(root) if is_inside else Path(file.name)

    def shadows(self, name: str) -> Installed | None:
        """Return the installed module with the same name as a project's module, or None.

        Which of the two an import returns depends on what the process has already imported.
        """
        top = name.partition(".")[0]
        is_importable = top in sys.stdlib_module_names or top in sys.modules
        outside = self._outside(top) if is_importable else None
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
        # The finders of the process cache directories and miss files that were just created.
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
    """Parse a module; the result is cached while the file's content is the same.

    Raises:
        SyntaxError, ValueError, OSError: the file is not readable Python.
    """
    data = file.read_bytes()  # modification time and size miss a quick edit
    known = _parsed.get((file, name))
    if known is None or known[0] != data:
        text = importlib.util.decode_source(data)
        known = _parsed[file, name] = data, Module(file=file, name=name, text=text)
    return known[1]


def find_outside(name: str) -> Installed | Unversioned:
    """Return the origin of a module that the project does not have."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return Installed("python", f"{sys.version_info.major}.{sys.version_info.minor}")
    if top == _PACKAGE:
        return Installed(_PACKAGE, metadata.version(_PACKAGE))
    spec = _outside_spec(top)
    if spec is None:
        return Installed(top, NOT_INSTALLED)
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    files = [file for place in places if (file := _existing(place)) is not None]
    if files and all(_is_installed(file) for file in files):
        for distribution in _distributions_of(top):
            return Installed(distribution, _version(distribution))
    if files and files[0].name == "__init__.py":
        files[0] = files[0].parent
    return Unversioned(top, tuple(files))


def _existing(place: str) -> Path | None:
    """Return a file or folder, or the archive that a module is imported from."""
    path = Path(place)
    if path.exists():
        return path
    return next((parent for parent in path.parents if parent.is_file()), None)


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
    """Return the distributions that provide a module; one of the same name is checked first."""
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
    direct_url = metadata.distribution(distribution).read_text("direct_url.json")
    origin = json.loads(direct_url) if direct_url else {}
    commit = origin.get("vcs_info", {}).get("commit_id", "")
    return f"{version}+{commit}" if commit else version


def every_installed() -> str:
    """Return one hash of all distributions and their versions."""
    names = {
        f"{distribution.metadata['Name']} {distribution.version}".casefold()
        for distribution in metadata.distributions()
        if distribution.metadata["Name"]
    }
    return sha256("\n".join(sorted(names)).encode()).hexdigest()


def code_files(folder: Path) -> Iterator[Path]:
    """Yield the code files below a folder, sorted, without tables, environments and caches."""
    visited = {folder.resolve()}
    for place, folders, files in os.walk(folder, followlinks=True):
        below = {name: Path(place, name).resolve() for name in sorted(folders)}
        folders[:] = [
            name
            for name, target in below.items()
            if target not in visited and _may_hold_code(Path(place, name))
        ]
        visited.update(below[name] for name in folders)
        for name in sorted(files):
            if name.endswith(_CODE):
                yield Path(place, name)


def project_files(root: Path) -> Iterator[Path]:
    """Yield all files of a project, sorted, without tables, environments and caches."""
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if _is_of_project(Path(place, name)))
        yield from (Path(place, name) for name in sorted(files))


def _may_hold_code(folder: Path) -> bool:
    return _is_of_project(folder) and folder.name not in {"node_modules", "site-packages"}


def _is_of_project(folder: Path) -> bool:
    return not (
        folder.name.startswith(".")
        or folder.name == "__pycache__"
        or (folder / "_delta_log").is_dir()
        or (folder / "pyvenv.cfg").is_file()
    )
