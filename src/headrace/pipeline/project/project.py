"""The files of a project, read and checked together.

The path of a folder enters; its manifest, views and functions leave, without duplicate names. No
source is opened: planning does that.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Self

import msgspec

from headrace.errors import InvalidArgumentError, InvalidProjectError, ProjectNotFoundError
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.project.folder import read_functions, read_views
from headrace.pipeline.project.manifest import MANIFEST, Manifest, read_manifest
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.setting import VariableValue, change_variables
from headrace.pipeline.project.view import Builder, BuilderView, View


class ProjectFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a project's folder; sources are not opened."""

    root: Path
    manifest: Manifest
    views: Mapping[str, View]
    catalog: Catalog

    @classmethod
    def load(cls, path: str | PathLike[str] = ".") -> Self:
        """Read a project's folder.

        Raises:
            ProjectNotFoundError: the folder has no `headrace.toml`.
            InvalidProjectError, InvalidViewError, InvalidFunctionError: a file is invalid.
        """
        root = Path(path).resolve()
        file = root / MANIFEST
        if not file.is_file():
            raise ProjectNotFoundError(folder=str(root))
        manifest = read_manifest(file)
        views = read_views(root)
        for name in views:
            if name in manifest.sources:
                reason = f"there is a view of the same name in {views[name].file}"
                raise InvalidProjectError(file=str(file), key=f"sources.{name}", reason=reason)
        return cls(root=root, manifest=manifest, views=views, catalog=read_functions(root))

    @property
    def name(self) -> str:
        """The name of the project."""
        return self.manifest.project.name

    @property
    def builders(self) -> dict[str, Builder]:
        """The functions that build views, by view."""
        return {n: view.build for n, view in self.views.items() if isinstance(view, BuilderView)}

    def profile(self, name: str = "default") -> Profile:
        """Return a profile by name.

        Raises:
            InvalidArgumentError: there is no such profile.
        """
        if name not in self.manifest.profiles:
            reason = f"there is no profile {name}; there are {', '.join(self.manifest.profiles)}"
            raise InvalidArgumentError(argument="profile", reason=reason)
        return self.manifest.profiles[name]

    def variables(
        self, changes: Mapping[str, VariableValue | str] | None = None
    ) -> dict[str, VariableValue]:
        """Return the variables with some changed; strings are parsed as the type in the manifest.

        Raises:
            InvalidArgumentError: a variable does not exist, or a string cannot be parsed.
        """
        return change_variables(self.manifest.variables, changes or {})
