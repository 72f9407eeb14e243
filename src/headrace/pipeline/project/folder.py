"""Reads a project's folder: its views, and the functions it declares."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from headrace.errors import InvalidViewError
from headrace.pipeline.functions.catalog import (
    Catalog,
    declared_functions,
    project_catalog,
    standard_catalog,
)
from headrace.pipeline.project.header import read_header
from headrace.pipeline.project.view import SqlView, View, declared_views

MODULE_PREFIX = "headrace_project_"
VIEWS = "views"
FUNCTIONS = "functions.py"


def read_views(root: Path) -> dict[str, View]:
    """The views of a project by name: each `.sql` file is one, each `.py` file may declare some.

    Raises:
        InvalidViewError: a header is wrong, a name is none, or two views have the same.
    """
    views: dict[str, View] = {}
    for file in sorted((root / VIEWS).rglob("*")):
        for view in _views_of(file, root):
            if not view.name.isidentifier() or view.name != view.name.casefold():
                reason = f"{view.name!r} is no name for a view: use lower-case letters, digits, _"
                raise InvalidViewError(file=view.file, line=None, reason=reason)
            if view.name in views:
                reason = f"there is a view {view.name} already in {views[view.name].file}"
                raise InvalidViewError(file=view.file, line=None, reason=reason)
            views[view.name] = view
    return dict(sorted(views.items()))


def _views_of(file: Path, root: Path) -> list[View]:
    shown = file.relative_to(root).as_posix()
    match file.suffix:
        case ".sql":
            sql = _read_text(file, shown)
            header = read_header(sql, file=shown, view=file.stem)
            return [SqlView(name=file.stem, file=shown, sql=sql, header=header)]
        case ".py" if not file.name.startswith("_"):
            return [*declared_views(vars(load_module(file, root)), file=shown)]
        case _:
            return []


def _read_text(file: Path, shown: str) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidViewError(
            file=shown, line=None, reason=f"it cannot be read: {error}"
        ) from error


def read_functions(root: Path) -> Catalog:
    """The standard functions, and those of a project's own `functions.py`.

    Raises:
        InvalidFunctionError: one is wrong, or has the name of another.
    """
    file = root / FUNCTIONS
    if not file.is_file():
        return standard_catalog()
    functions = declared_functions(vars(load_module(file, root)))
    own = [f for f in functions if f.kernel.__module__ == f"{MODULE_PREFIX}{file.stem}"]
    return project_catalog(own, origin=FUNCTIONS, root=root)


def load_module(file: Path, root: Path) -> ModuleType:
    """Run a Python file of a project; it may import its neighbours by name.

    Raises:
        InvalidViewError: it fails.
    """
    name = MODULE_PREFIX + file.relative_to(root).with_suffix("").as_posix().replace("/", "_")
    spec = spec_from_file_location(name, file)
    assert spec is not None, "a file that is there has a spec"
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # so that what it declares can be pickled
    try:
        with _importable(root):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        reason = f"it cannot be imported: {type(error).__name__}: {error}"
        raise InvalidViewError(file=str(file), line=None, reason=reason) from error
    return module


@contextmanager
def _importable(root: Path) -> Iterator[None]:
    """Let a project's modules import each other; they are forgotten afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(root))
    try:
        yield
    finally:
        sys.path.remove(str(root))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(root) and not name.startswith(MODULE_PREFIX):
                del sys.modules[name]
