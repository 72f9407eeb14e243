"""Pipelines of views: plans a project, pins its sources, and runs it on Spark or DataFusion.

A project's folder enters; frozen bundles leave and, through a runner, tables.

from headrace.pipeline import Project

bundle = Project.load("shop").plan()
for view in bundle.views.values():
    print(view.name, view.skip_key)
"""

import warnings

from headrace.pipeline.requirement import require_planner

require_planner()

# ruff: noqa: E402  (the check above must run before the imports that it guards)
# isort: split
from headrace.pipeline.api import Project
from headrace.pipeline.bundle.bundle import Bundle, decode_bundle
from headrace.pipeline.bundle.cause import Cause, CauseKind, explain_change, explain_view
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.skip_key import KeyParts, SourcePart
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.contract import Contract, Evolution
from headrace.pipeline.functions.declaration import (
    aggregate,
    function,
    table_function,
    window,
)
from headrace.pipeline.functions.definition import Function, FunctionKind, Volatility
from headrace.pipeline.project.header import Materialise, Tier, WriteMode
from headrace.pipeline.project.view import view
from headrace.pipeline.runner_kind import RunnerKind
from headrace.pipeline.runs.run_difference import RunDifference
from headrace.pipeline.runs.run_record import RunKind, RunRecord, RunStatus, ViewRun, ViewStatus
from headrace.pipeline.sources.source_pin import SourcePin

__all__ = [
    "Bundle",
    "Cause",
    "CauseKind",
    "Contract",
    "Evolution",
    "Function",
    "FunctionKind",
    "KeyParts",
    "Materialise",
    "Project",
    "RunDifference",
    "RunKind",
    "RunRecord",
    "RunStatus",
    "RunnerKind",
    "ScanUnit",
    "SourcePart",
    "SourcePin",
    "Tier",
    "ViewPlan",
    "ViewRun",
    "ViewStatus",
    "Volatility",
    "WriteMode",
    "aggregate",
    "decode_bundle",
    "explain_change",
    "explain_view",
    "function",
    "table_function",
    "view",
    "window",
]


_RENAMED = {"Engine": RunnerKind}
"""Deprecated names, which the next minor release removes."""


def __getattr__(name: str) -> type[RunnerKind]:
    """Return a deprecated name's object, with a warning."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    text = f"headrace.pipeline.{name} is now {_RENAMED[name].__name__}"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return _RENAMED[name]
