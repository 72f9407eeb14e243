"""Identifies installed packages: the distributions that provide a module, and their versions.

The name of a module enters; names and versions leave. A version identifies code only if it was
published: of a distribution that was installed from a folder or a file, the content counts, too.
"""

import csv
import json
import site
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path


@cache
def _site_folders() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    return tuple(Path(folder).resolve() for folder in [*folders, site.getusersitepackages()])


def is_installed(file: Path) -> bool:
    """Return whether a file is in a folder that distributions are installed to."""
    resolved = file.resolve()
    return any(resolved.is_relative_to(folder) for folder in _site_folders())


@cache
def distributions_of(module: str) -> tuple[str, ...]:
    """Return the distributions that provide a module; several share a namespace package."""
    with suppress(metadata.PackageNotFoundError):
        files = metadata.distribution(module).read_text("RECORD") or ""
        is_package = any(line.startswith(f"{module}/__init__.") for line in files.splitlines())
        if is_package or any(line.startswith(f"{module}.") for line in files.splitlines()):
            return (module,)
    return tuple(sorted(set(_providers().get(module, ()))))


@cache
def _providers() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


@cache
def installed_version(distribution: str) -> str:
    """Return the version of a distribution, with what identifies a build that was not published."""
    return _identified(metadata.distribution(distribution))


def _identified(distribution: metadata.Distribution) -> str:
    direct_url = distribution.read_text("direct_url.json")
    origin = json.loads(direct_url) if direct_url else {}
    build = origin.get("vcs_info", {}).get("commit_id", "")
    if "dir_info" in origin or "archive_info" in origin:
        build = digest_record((distribution.read_text("RECORD") or "").splitlines())
    return f"{distribution.version}+{build}" if build else distribution.version


def digest_record(lines: Iterable[str]) -> str:
    """Return a hash of the files that a distribution lists with their hashes.

    Scripts and the metadata of the installation contain paths of the machine, so they are left out.
    """
    files = sorted(
        (path, digest)
        for path, digest, *_ in csv.reader(lines)
        if digest and not path.startswith(("..", "/")) and ".dist-info/" not in path
    )
    return sha256(json.dumps(files).encode()).hexdigest()[:16]


@cache
def every_installed() -> str:
    """Return one hash of all distributions and their versions."""
    names = {
        f"{distribution.metadata['Name']} {_identified(distribution)}".casefold()
        for distribution in metadata.distributions()
        if distribution.metadata["Name"]
    }
    return sha256("\n".join(sorted(names)).encode()).hexdigest()
