"""Reads the views and functions in a project's folder.

The project's folder enters; its views by name, and its functions together with the standard ones,
leave. Errors name the file.
"""

from pathlib import Path

import msgspec

from headrace.errors import InvalidViewError
from headrace.pipeline.functions.called_import import CalledImports
from headrace.pipeline.functions.catalog import (
    Catalog,
    declared_functions,
    project_catalog,
    standard_catalog,
)
from headrace.pipeline.functions.fingerprint import Source, follow_code
from headrace.pipeline.project.header import read_header
from headrace.pipeline.project.importing import MODULE_PREFIX, Loaded, load_module
from headrace.pipeline.project.view import BuilderView, SqlView, View, declared_views

VIEWS = "views"
FUNCTIONS = "functions.py"


def read_views(root: Path) -> dict[str, View]:
    """Return the views of a project by name: one per `.sql` file, any number per `.py` file.

    Raises:
        InvalidViewError: a header or a name is invalid, or two views have the same name.
    """
    views: dict[str, View] = {}
    for file in sorted((root / VIEWS).rglob("*")):
        for view in _views_of(file, root):
            if not view.name.isidentifier() or view.name != view.name.casefold():
                reason = (
                    f"{view.name!r} is not a valid view name: use lower-case letters, digits and _"
                )
                raise InvalidViewError(file=view.file, line=None, reason=reason)
            if view.name in views:
                reason = f"there is already a view {view.name} in {views[view.name].file}"
                raise InvalidViewError(file=view.file, line=None, reason=reason)
            views[view.name] = view
    return dict(sorted(views.items()))


def _views_of(file: Path, root: Path) -> list[View]:
    relative = file.relative_to(root).as_posix()
    match file.suffix:
        case ".sql":
            sql = _read_text(file, relative)
            header = read_header(sql, file=relative, view=file.stem)
            return [SqlView(name=file.stem, file=relative, sql=sql, header=header)]
        case ".py" if not file.name.startswith("_"):
            loaded = load_module(file, root)
            views = declared_views(vars(loaded.module), file=relative)
            return [_with_fingerprint(view, root, loaded) for view in views]
        case _:
            return []


def _with_fingerprint(view: BuilderView, root: Path, loaded: Loaded) -> BuilderView:
    """Return a builder with the fingerprint of the code that was loaded."""
    source = Source(root / view.file, view.name)
    followed = follow_code(view.build, signature=f"view {view.name}", root=root, source=source)
    build = view.build
    if followed.sources:
        build = CalledImports(followed.sources, loaded.imported).wrap(build)
    return msgspec.structs.replace(view, part=followed.part, build=build)


def _read_text(file: Path, relative: str) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidViewError(
            file=relative, line=None, reason=f"it cannot be read: {error}"
        ) from error


def read_functions(root: Path) -> Catalog:
    """Return the standard functions and those of the project's `functions.py`.

    Raises:
        InvalidFunctionError: a function is invalid, or two have the same name.
    """
    file = root / FUNCTIONS
    if not file.is_file():
        return standard_catalog()
    loaded = load_module(file, root)
    functions = declared_functions(vars(loaded.module))
    module = f"{MODULE_PREFIX}{file.stem}"
    # Functions that the file only imports are not part of the project.
    local_functions = [f for f in functions if f.kernel.__module__ == module]
    return project_catalog(local_functions, origin=FUNCTIONS, root=root, modules=loaded.imported)
