"""Reads code outside the project that no version identifies: its bytes, and what it imports.

The files of such a module enter; their hash leaves, and the origins of the modules they import.
"""

import ast
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from headrace.pipeline.functions.opened import digest_file
from headrace.pipeline.functions.resolution import (
    Installed,
    Unversioned,
    code_files,
    find_outside,
)


def digest_code(places: Iterable[Path]) -> str:
    """Return one hash of the code in files and folders."""
    digest = sha256()
    for place in places:
        for file in code_files(place) if place.is_dir() else [place]:
            inside = file.relative_to(place).as_posix() if place.is_dir() else file.name
            digest.update(f"{inside} {digest_file(file)}\n".encode())
    return digest.hexdigest()


def outside_imports(origin: Unversioned) -> Iterator[Installed | Unversioned]:
    """Yield the origins of the modules that a module outside the project imports."""
    tops: set[str] = set()
    for place in origin.files:
        for file in code_files(place) if place.is_dir() else [place]:
            try:
                tree = ast.parse(file.read_bytes()) if file.suffix == ".py" else None
            except (SyntaxError, ValueError):
                continue
            for node in ast.walk(tree) if tree is not None else ():
                match node:
                    case ast.Import(names=names):
                        tops |= {alias.name.partition(".")[0] for alias in names}
                    case ast.ImportFrom(module=str(module), level=0):
                        tops.add(module.partition(".")[0])
    for top in sorted(tops - {origin.module}):
        yield find_outside(top)
