"""The functions that views can call: the standard ones, and those of a project.

Declared functions enter; a `Catalog` leaves, which looks them up by name. It fingerprints each
function, and says whether one has changed since a view was planned.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from headrace.errors import FunctionChangedError, InvalidFunctionError
from headrace.pipeline.functions import change_feed, collection, dependencies, hashing, span, text
from headrace.pipeline.functions.builtin import spark_functions
from headrace.pipeline.functions.called_import import CalledImports
from headrace.pipeline.functions.definition import Function, Volatility
from headrace.pipeline.functions.fingerprint import FunctionPart, follow_function
from headrace.pipeline.functions.resolution import Resolver

_PACKAGE = "headrace"
_STANDARD = (hashing, span, text, collection, change_feed)
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]


class Entry(msgspec.Struct, frozen=True):
    """A function and its origin."""

    function: Function
    origin: str
    resolver: Resolver
    """Finds the modules that the function uses; functions of one origin share it."""
    declared: Function | None = None
    """The function as its module declares it, if this one has another name or more fields."""


class Catalog:
    """Functions by name. A project can add functions, but not replace standard ones."""

    def __init__(
        self, entries: Mapping[str, Entry], parts: Mapping[str, FunctionPart] | None = None
    ) -> None:
        """Take functions, and the fingerprints of some; others are computed on first use."""
        self.entries = entries
        self._parts = dict(parts or {})

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries[name] for name in sorted(self.entries))

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def __getitem__(self, name: str) -> Function:
        return self.entries[name].function

    def part(self, name: str) -> FunctionPart:
        """Return the fingerprint of a function, part by part, computed on first use."""
        if name not in self._parts:
            entry = self.entries[name]
            function = entry.declared or entry.function
            self._parts[name] = follow_function(function, resolver=entry.resolver).part
        return self._parts[name]

    def why_run(self, name: str) -> str | None:
        """Return why a view that calls a function must run every time; None if it need not."""
        match self.entries[name].function.volatility:
            case Volatility.VOLATILE:
                return f"{name} is declared volatile"
            case Volatility.STABLE:
                return f"{name} is declared stable: the same only within one run"
            case Volatility.IMMUTABLE:
                return self.part(name).why_run(name)

    def verify(self, view: str, planned: Mapping[str, FunctionPart]) -> None:
        """Check that the functions of a view have not changed since it was planned.

        The code of a builder is among its parts, under the name of the view; it is not a function.

        Raises:
            FunctionChangedError: a function is missing or has changed.
        """
        for name, then in planned.items():
            if name == view:
                continue
            if name not in self.entries:
                raise FunctionChangedError(view=view, function=name, changed="it is gone")
            changed = describe_change(then, self.part(name))
            if changed:
                raise FunctionChangedError(view=view, function=name, changed=changed[0])


def standard_catalog() -> Catalog:
    """Return the functions that every project has."""
    return Catalog({entry.function.name: entry for entry in _standard()})


def project_catalog(
    functions: Iterable[Function],
    *,
    origin: str,
    root: Path,
    modules: Mapping[str, ModuleType] | None = None,
) -> Catalog:
    """Return the standard functions, and those of a project.

    Args:
        functions: The functions that the project declares.
        origin: The file that declares them.
        root: The folder of the project.
        modules: The modules of the project that were imported while the file was loaded.

    Raises:
        InvalidFunctionError: a function has the name of a standard function, of one of Spark's, or
            of another function of the project.
    """
    entries = {entry.function.name: entry for entry in _standard()}
    resolver = Resolver(root)
    for function in functions:
        named_entries = [Entry(function, origin, resolver)]
        named_entries += [
            Entry(
                msgspec.structs.replace(function, name=alias), origin, resolver, declared=function
            )
            for alias in function.aliases
        ]
        for entry in named_entries:
            name = entry.function.name
            if name in spark_functions():
                reason = "Spark has a function of this name: choose another name"
                raise InvalidFunctionError(function=name, reason=reason)
            if name in entries:
                reason = f"{entries[name].origin} has a function of this name: choose another name"
                raise InvalidFunctionError(function=name, reason=reason)
            entries[name] = entry
    # Follow the source that was loaded: it may be edited before planning.
    followed = {
        name: follow_function(entry.declared or entry.function, resolver=resolver)
        for name, entry in entries.items()
        if entry.resolver is resolver
    }
    sources = {name: text for each in followed.values() for name, text in each.sources.items()}
    if sources:
        imports = CalledImports(sources, modules or {})
        for name in followed:
            entries[name] = _with_imports(entries[name], imports)
    return Catalog(entries, {name: each.part for name, each in followed.items()})


def _with_imports(entry: Entry, imports: CalledImports) -> Entry:
    return msgspec.structs.replace(
        entry,
        function=msgspec.structs.replace(entry.function, imports=imports),
        declared=entry.declared or entry.function,
    )


def declared_functions(names: Mapping[str, Any]) -> list[Function]:
    """Return the functions that a module declares."""
    return [value for value in names.values() if isinstance(value, Function)]


def describe_change(then: FunctionPart, now: FunctionPart) -> list[str]:
    """Return the differences between two fingerprints of a function, in words."""
    changes = []
    if then.signature != now.signature:
        changes.append(f"its signature was {then.signature} and is {now.signature}")
    if then.source != now.source:
        changes.append("its body changed")
    changes += [f"{_helper(label)} {how}" for label, how in _differences(then.helpers, now.helpers)]
    for name in sorted({*then.packages, *now.packages}):
        before, after = then.packages.get(name), now.packages.get(name)
        if before != after:
            changes.append(_package_change(name, before, after))
    changes += [f"{label} {how}" for label, how in _differences(then.inputs, now.inputs)]
    changes += [f"it covers {whole}" for whole in now.widened if whole not in then.widened]
    changes += [f"it no longer covers {w}" for w in then.widened if w not in now.widened]
    changes += [f"it no longer depends on {w}" for w in then.unproven if w not in now.unproven]
    changes += [why for why in now.unproven if why not in then.unproven]
    return changes


def _differences(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for label in sorted({*then, *now}):
        if label not in then:
            yield label, "is new"
        elif label not in now:
            yield label, "is gone"
        elif then[label] != now[label]:
            yield label, "changed"


def _helper(label: str) -> str:
    """Describe a helper, in words."""
    file, _, name = label.partition(":")
    match name:
        case dependencies.ON_IMPORT:
            return f"what {file} runs on import"
        case dependencies.ORDER:
            return f"the order of statements in {file}"
        case dependencies.ALL:
            return f"{file}, which counts as a whole,"
        case _:
            return f"its helper {label}"


def _package_change(name: str, before: str | None, after: str | None) -> str:
    if name == dependencies.EVERY_PACKAGE and before and after:
        return f"{name} counts, and one changed"
    return f"{name} was {before or 'not imported'} and is {after or 'not imported'}"


def _standard() -> Iterator[Entry]:
    resolver = Resolver(_PACKAGE_ROOT, package=_PACKAGE)
    for module in _STANDARD:
        for function in declared_functions(vars(module)):
            yield Entry(function, _PACKAGE, resolver)
