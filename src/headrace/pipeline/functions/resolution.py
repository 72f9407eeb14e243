"""Finds where a module comes from: the project, an installed package, or elsewhere.

The name of an import enters; an `Origin` leaves. Modules of the project, and of packages without a
version, are parsed, so that they can be followed; all others are identified by a version or by
their bytes.
"""

import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
from itertools import islice
from pathlib import Path

import msgspec

from headrace.pipeline.functions.distribution import (
    distributions_of,
    installed_version,
    is_installed,
)
from headrace.pipeline.functions.module import Module

_PACKAGE = "headrace"
NOT_INSTALLED = "not installed"
_LOADERS = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourceFileLoader, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)
_MOST_FILES = 50
"""The largest package without a version that is followed; of larger ones all code counts."""
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
    spec: ModuleSpec | None = None
    """Where its source is, by which it can be followed; None in an archive or a large package."""


class Compiled(msgspec.Struct, frozen=True):
    """A module without source, identified by its bytes."""

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
        self._unversioned_specs: dict[str, ModuleSpec | None] = {}
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
        """Return the origin of a module; None for a namespace package that is followed."""
        if name not in self._origins:
            spec = self._followed_spec(name)
            self._origins[name] = self._unfollowed(name) if spec is None else self._of(name, spec)
        return self._origins[name]

    def _unfollowed(self, name: str) -> Installed | Unversioned:
        top = name.partition(".")[0]
        if top != name and self.is_followed(top):
            return Installed(name, NOT_INSTALLED)
        return self.outside(top)

    def outside(self, name: str) -> Installed | Unversioned:
        """Return the origin of a module that the project does not have, as a whole."""
        top = name.partition(".")[0]
        if top != name and self.is_in_project(top):
            return Installed(name, NOT_INSTALLED)
        if top not in self._tops:
            self._tops[top] = find_outside(top)
        return self._tops[top]

    def is_followed(self, name: str) -> bool:
        """Return whether a module is of the project, or of a package without a version."""
        return self._followed_spec(name) is not None

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
        outside = self.outside(top) if is_importable and self.is_in_project(top) else None
        return outside if isinstance(outside, Installed) else None

    def _followed_spec(self, name: str) -> ModuleSpec | None:
        spec = self._project_spec(name)
        return self._unversioned_spec(name) if spec is None else spec

    def _project_spec(self, name: str) -> ModuleSpec | None:
        top, *below = name.split(".")
        if name not in self._specs:
            is_left_out = self.package is not None and top != self.package
            spec = None if is_left_out else self._spec(top, [str(self.root)])
            self._specs[name] = self._descend(spec, below)
        return self._specs[name]

    def _unversioned_spec(self, name: str) -> ModuleSpec | None:
        top, *below = name.split(".")
        if name not in self._unversioned_specs:
            is_outside = self._project_spec(top) is None
            origin = self.outside(top) if is_outside else None
            spec = origin.spec if isinstance(origin, Unversioned) else None
            self._unversioned_specs[name] = self._descend(spec, below)
        return self._unversioned_specs[name]

    def _descend(self, spec: ModuleSpec | None, below: list[str]) -> ModuleSpec | None:
        for part in below:
            if spec is None or not spec.submodule_search_locations:
                return None
            spec = self._spec(f"{spec.name}.{part}", list(spec.submodule_search_locations))
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
        if not file.is_relative_to(self.root):
            self._inside.setdefault(file, _importable_path(name, file))
        if file.suffix == ".py":
            with suppress(SyntaxError, ValueError):
                return parse_module(file, name)
        return Compiled(name, file)


def _importable_path(name: str, file: Path) -> Path:
    """Return the path of a module below the folder that it is imported from."""
    parts = name.split(".")
    is_package = file.name.partition(".")[0] == "__init__"
    return Path(*parts, file.name) if is_package else Path(*parts[:-1], file.name)


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
    if files and all(map(is_installed, files)):
        distributions = distributions_of(top)
        if distributions:
            package = ", ".join(distributions)
            return Installed(package, ", ".join(map(installed_version, distributions)))
    is_plain = bool(files) and all(Path(place).exists() for place in places)
    if files and files[0].name == "__init__.py":
        files[0] = files[0].parent
    is_followed = is_plain and not _is_large(files)
    return Unversioned(top, tuple(files), spec if is_followed else None)


def _is_large(places: Iterable[Path]) -> bool:
    """Return whether a package has too much code to be followed in reasonable time."""
    code = (file for place in places if place.is_dir() for file in code_files(place))
    return next(islice(code, _MOST_FILES, None), None) is not None


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
