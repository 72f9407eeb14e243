"""Fingerprints functions: their source, and everything that their results depend on.

Fingerprints are computed from source, not from running objects, and from its syntax: comments,
docstrings and layout do not count, and a fingerprint is the same on every machine. What the source
does not prove is included as a whole, and the fingerprint says so: code that is reached by a
computed name widens the fingerprint to all of the project's Python, and a result that depends on
the outside world is never assumed to be unchanged.
"""

import inspect
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from headrace.errors import InvalidFunctionError
from headrace.pipeline.functions.called_import import ModuleSource
from headrace.pipeline.functions.definition import Function, FunctionKind
from headrace.pipeline.functions.dependencies import VARIABLE
from headrace.pipeline.functions.follow import Follower
from headrace.pipeline.functions.module import Module
from headrace.pipeline.functions.resolution import Resolver


class FunctionPart(msgspec.Struct, frozen=True, kw_only=True):
    """The fingerprint of a function, part by part, so that a change can be explained."""

    signature: str
    source: str
    """The hash of the function's own source."""
    helpers: dict[str, str] = {}
    """The hashes of what it uses of its project, by module and name."""
    packages: dict[str, str] = {}
    """The versions of the packages that it imports."""
    inputs: dict[str, str] = {}
    """The hashes of files that it opens and of environment variables that it reads."""
    widened: tuple[str, ...] = ()
    """What is included as a whole because it cannot be followed more closely, and why."""
    unproven: tuple[str, ...] = ()
    """Dependencies that cannot be proven unchanged; with any, there is no skip key."""

    @property
    def fingerprint(self) -> str:
        """Return one hash of all parts."""
        fields = {"signature", "source", "helpers", "packages"}
        identity = {
            name: value
            for name, value in msgspec.structs.asdict(self).items()
            if name in fields or value  # earlier releases had only these fields
        }
        return sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the environment variables that it reads."""
        labels = (label for label in self.inputs if label.startswith(VARIABLE))
        return tuple(label.removeprefix(VARIABLE) for label in labels)

    def why_run(self, name: str) -> str | None:
        """Return why views that use it must run every time; None if they need not."""
        if not self.unproven:
            return None
        return f"{name} cannot be proven unchanged: {'; '.join(self.unproven)}"


class Source(msgspec.Struct, frozen=True):
    """A definition in a project: a file, and a name in it."""

    file: Path
    name: str


class Followed(msgspec.Struct, frozen=True):
    """A function that has been followed through its source."""

    part: FunctionPart
    sources: dict[str, ModuleSource]
    """The modules of its project that it can import while it is called, if it imports any."""


def follow_function(function: Function, *, resolver: Resolver) -> Followed:
    """Return the fingerprint of a declared function, and what it can import while it is called.

    Raises:
        InvalidFunctionError: its source cannot be found.
    """
    signature = f"{function.name}{function.signature} {function.volatility}"
    if function.kind is not FunctionKind.SCALAR:
        signature = f"{function.kind} {signature}"
    return _follow(
        _sources(function.kernel, function),
        signature=signature,
        resolver=resolver,
        is_promised=function.is_promised,
    )


def follow_code(
    code: Callable[..., Any], *, signature: str, root: Path, source: Source | None = None
) -> Followed:
    """Return the fingerprint of any Python function, and what it can import while it is called.

    Args:
        code: The function.
        signature: The text that identifies its declaration.
        root: The folder that the project's modules are imported from.
        source: Where the function is bound; by default where it is defined.

    Raises:
        InvalidFunctionError: its source cannot be found.
    """
    sources = [source] if source else _sources(code, code)
    return _follow(sources, signature=signature, resolver=Resolver(root), is_promised=False)


def _sources(code: Callable[..., Any], bound: Any) -> list[Source]:
    """Return where a function is defined, and where its module binds the declared function."""
    defined = inspect.unwrap(code)
    try:
        file = inspect.getsourcefile(defined)
    except TypeError:
        file = None
    if file is None:
        raise _not_found(getattr(code, "__name__", repr(code)))
    loaded = vars(sys.modules.get(defined.__module__, object)).items()
    names = {name for name, value in loaded if value is bound}
    return [Source(Path(file), name) for name in sorted({*names, defined.__name__})]


def _not_found(name: str) -> InvalidFunctionError:
    reason = "its source cannot be found: define it at the top level of a module"
    return InvalidFunctionError(function=name, reason=reason)


def _follow(
    sources: list[Source], *, signature: str, resolver: Resolver, is_promised: bool
) -> Followed:
    module: Module = resolver.module(sources[0].file)
    names = [source.name for source in sources if source.name in module.bindings]
    if not names:
        raise _not_found(sources[0].name)
    follower = Follower(resolver, runs_imports=resolver.package is None)
    follower.follow(module, names)
    dependencies = follower.dependencies
    widened = {*dependencies.widened}
    widened |= {f"all of the project's Python, since {why}" for why in dependencies.dynamic}
    if is_promised and dependencies.unproven:
        dependencies.add_project_files()
        widened |= {f"every file of the project, since {why}" for why in dependencies.unproven}
    label = dependencies.label(module.file)
    source = [dependencies.helpers.pop(f"{label}:{name}") for name in names]
    part = FunctionPart(
        signature=signature,
        source=source[0] if len(source) == 1 else sha256("".join(source).encode()).hexdigest(),
        helpers=dict(sorted(dependencies.helpers.items())),
        packages=dict(sorted(dependencies.packages.items())),
        inputs=dict(sorted(dependencies.inputs.items())),
        widened=tuple(sorted(widened)),
        unproven=() if is_promised else tuple(sorted(dependencies.unproven)),
    )
    return Followed(part, follower.sources_for_calls())
