"""A project as its author wrote it: a folder, read."""

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
    """What the files of a project say; its sources are not looked at."""

    root: Path
    manifest: Manifest
    views: Mapping[str, View]
    catalog: Catalog

    @classmethod
    def load(cls, path: str | PathLike[str] = ".") -> Self:
        """Read a project's folder.

        Raises:
            ProjectNotFoundError: there is no `headrace.toml` in it.
            InvalidProjectError, InvalidViewError, InvalidFunctionError: a file of it is wrong.
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
        """What the project is called."""
        return self.manifest.project.name

    @property
    def builders(self) -> dict[str, Builder]:
        """The views that are built in Python."""
        return {n: view.build for n, view in self.views.items() if isinstance(view, BuilderView)}

    def profile(self, name: str = "default") -> Profile:
        """How much of a machine a run may take.

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
        """The variables, some of them changed; a text is read in the type that the file has.

        Raises:
            InvalidArgumentError: there is no such variable, or the text is not of its type.
        """
        return change_variables(self.manifest.variables, changes or {})
