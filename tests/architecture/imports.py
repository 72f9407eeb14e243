"""Read a package's source as text, and report which rules a module breaks."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import headrace

PACKAGE = Path(headrace.__file__).parent

STEPS: tuple[frozenset[str], ...] = tuple(
    frozenset(step.split())
    for step in (
        "__main__",
        "cli",
        "serve",
        "pipeline",
        "spark",
        "table",
        "wiring",
        "maintain handover terminal",
        "commit",
        "rows",
        "scan",
        "state",
        "engines phases",
        "replay",
        "log plan storage avro",
        "expr",
        "protocol",
        "metrics",
        "errors",
        "compiled",
    )
)
"""Imports go down this list; rooms of the same step do not import each other."""

PIPELINE_STEPS: tuple[frozenset[str], ...] = tuple(
    frozenset(step.split())
    for step in (
        "page.project_page",
        "api",
        "page",
        "execution",
        "wiring",
        "runners",
        "planner",
        "output",
        "runs",
        "bundle",
        "analysis",
        "sources translation",
        "project runner_kind",
        "functions",
        "contract",
        "arrow_ddl widening requirement parquet_statistics place",
    )
)
"""The same for the rooms and modules of `pipeline`; a listed module has its own position."""

SUBROOM_STEPS: Mapping[str, tuple[frozenset[str], ...]] = {
    "pipeline.runners": (frozenset({"datafusion", "spark"}), frozenset({"task"})),
    "pipeline.translation": tuple(
        frozenset(step.split())
        for step in (
            "",
            "catalogue",
            (
                "cast evaluation interval interval_type operator pattern regular_expression"
                " time_cast type_rule typed"
            ),
            "kernels",
            "java_number kernel number_format translated_session zone",
        )
    ),
}
"""The same within rooms that have folders of their own; a module that is not listed is on top.

Modules of one step may import each other, but the folders of one step may not.
"""

PIPELINE_EXCEPTIONS = frozenset(
    {
        ("pipeline.bundle.bundle", "page"),  # a bundle shows its graph in a notebook
    }
)

HEAVY: dict[str, tuple[str, ...]] = {
    "cffi": ("serve",),
    "datafusion": ("pipeline", "state"),
    "deltalake": ("pipeline", "maintain", "commit"),
    "duckdb": ("handover",),
    "fastavro": ("avro",),
    "obstore": ("storage",),
    "polars": ("handover",),
    "pyarrow.dataset": ("handover", "pipeline"),
    "pyarrow.flight": ("serve",),
    "pyarrow.parquet": ("engines", "rows", "pipeline"),
    "pyspark": ("spark", "engines.spark", "pipeline.runners"),
    "sqlglot": ("expr.parse", "pipeline"),
    "starlette": ("serve",),
    "uvicorn": ("serve",),
}
"""Where a heavy library may be imported: a room, or a module below one."""

LIGHT_UNTIL_ASKED = ("pyarrow", "numpy", "sqlglot")
"""Libraries that `import headrace` does not load."""

PURE = frozenset({"phases", "log", "plan"})
"""Rooms that do no I/O, and reach no module that does."""
SPILLING_MODULES = frozenset({"replay.spill"})
"""What pure rooms may reach although it does I/O: the seen set spills to disk."""
IMPURE_MODULES = frozenset(
    {"os", "io", "pathlib", "shutil", "socket", "subprocess", "tempfile", "urllib.request"}
)
MAY_IMPORT_LATE = ("wiring", "cli", "pipeline.wiring", "serve.wiring")


@dataclass(frozen=True, slots=True)
class Import:
    module: str
    line: int
    late: bool


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return self.name.partition(".")[0]


@cache
def modules(package: Path) -> tuple[Module, ...]:
    return tuple(_parse(package))


def _parse(package: Path) -> Iterator[Module]:
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        yield Module(name or "headrace", ast.parse(path.read_text(), str(path)))


@cache
def imports(tree: ast.Module) -> tuple[Import, ...]:
    return tuple(_imports(tree))


def _imports(tree: ast.Module) -> Iterator[Import]:
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        late = id(node) not in top
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, late)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                yield Import(f"{module}.{alias.name}", node.lineno, late)


@cache
def reached_modules(package: Path) -> dict[str, frozenset[str]]:
    """Return the modules that each module imports, directly and indirectly."""
    trees = {module.name: module.tree for module in modules(package)}
    direct = {
        name: {
            module
            for imported in imports(tree)
            if (module := _module_of(imported.module, trees)) is not None
        }
        for name, tree in trees.items()
    }
    return {name: _reachable(name, direct) for name in direct}


def _module_of(imported: str, trees: Mapping[str, ast.Module]) -> str | None:
    """Return the module of Headrace that an import names, or that has the imported name."""
    name = imported.removeprefix("headrace.")
    if name == imported:
        return None
    return next((n for n in (name, name.rpartition(".")[0]) if n in trees), None)


def _reachable(start: str, direct: Mapping[str, set[str]]) -> frozenset[str]:
    reached, waiting = set[str](), list(direct[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(direct[name])
    return frozenset(reached)


def is_impure(tree: ast.Module) -> bool:
    """Return whether a module imports what does I/O."""
    return any(
        f"{imported.module}.".startswith(f"{impure}.")
        for imported in imports(tree)
        for impure in IMPURE_MODULES
    )


def step_of(room: str) -> int:
    return next(i for i, rooms in enumerate(STEPS) if room in rooms)


def violations(module: Module) -> Iterator[str]:
    """Yield every rule of direction, weight and purity that the module breaks."""
    for imported in imports(module.tree):
        yield from _direction(module, imported)
        yield from _weight(module, imported)
        if imported.module.startswith("."):
            yield f"{module.name}:{imported.line} imports relatively"
        if imported.module == "typing.TYPE_CHECKING":
            yield f"{module.name}:{imported.line} hides imports in TYPE_CHECKING"
        if imported.late and not any(
            f"{module.name}.".startswith(f"{m}.") for m in MAY_IMPORT_LATE
        ):
            yield f"{module.name}:{imported.line} imports {imported.module} inside a function"
    if module.room in PURE:
        yield from _purity(module)


def _direction(module: Module, imported: Import) -> Iterator[str]:
    if not imported.module.startswith("headrace.") or module.name == "headrace":
        return
    target = imported.module.split(".")[1]
    if target == module.room == "pipeline":
        yield from _pipeline_direction(module, imported)
        yield from _subroom_direction(module, imported)
    if target.startswith("__") or target == module.room:
        return
    if step_of(target) <= step_of(module.room):
        yield f"{module.name}:{imported.line} imports upwards or sideways: {imported.module}"


def _pipeline_direction(module: Module, imported: Import) -> Iterator[str]:
    own = pipeline_room(module.name)
    target = pipeline_room(imported.module.removeprefix("headrace."))
    if own is None or target is None or (module.name, target) in PIPELINE_EXCEPTIONS:
        return
    if target.partition(".")[0] == own.partition(".")[0]:
        return
    if _pipeline_step(target) <= _pipeline_step(own):
        yield f"{module.name}:{imported.line} imports upwards or sideways: {imported.module}"


def _subroom_direction(module: Module, imported: Import) -> Iterator[str]:
    for room, steps in SUBROOM_STEPS.items():
        names = (module.name, imported.module.removeprefix("headrace."))
        if not all(name.startswith(f"{room}.") for name in names):
            continue
        own, target = (name.removeprefix(f"{room}.").partition(".")[0] for name in names)
        own_step, target_step = (
            next((i for i, step in enumerate(steps) if name in step), 0) for name in (own, target)
        )
        is_folder = (PACKAGE / Path(*room.split("."), own)).is_dir()
        is_sideways = own_step == target_step and is_folder and own != target
        if target_step < own_step or is_sideways:
            yield f"{module.name}:{imported.line} imports upwards or sideways: {imported.module}"


def pipeline_room(name: str) -> str | None:
    """Return the `pipeline` room of a module, or the module itself if it has its own position."""
    parts = name.split(".")[1:3]
    if not parts:
        return None
    placed = {room for step in PIPELINE_STEPS for room in step}
    named = (room for room in (".".join(parts), parts[0]) if room in placed)
    return next(named, None)


def _pipeline_step(room: str) -> int:
    return next(i for i, rooms in enumerate(PIPELINE_STEPS) if room in rooms)


def _weight(module: Module, imported: Import) -> Iterator[str]:
    for library, homes in HEAVY.items():
        if not f"{imported.module}.".startswith(f"{library}."):
            continue
        if not any(f"{module.name}.".startswith(f"{home}.") for home in homes):
            yield f"{module.name}:{imported.line} imports {library}, at home in {', '.join(homes)}"


def _purity(module: Module) -> Iterator[str]:
    for imported in imports(module.tree):
        if any(f"{imported.module}.".startswith(f"{impure}.") for impure in IMPURE_MODULES):
            yield f"{module.name}:{imported.line} imports {imported.module}, which reaches outside"
        if imported.module.startswith("headrace.storage"):
            yield f"{module.name}:{imported.line} imports a store"
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"open", "print", "input"}
        ):
            yield f"{module.name}:{node.lineno} calls {node.func.id}()"
