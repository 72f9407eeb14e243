"""Pipelines of views: planned, pinned, pruned and bundled; runners run the bundles.

A project's folder enters; frozen bundles leave, and, through a runner, tables.

from headrace.pipeline import Project

bundle = Project.load("shop").plan()
for view in bundle.views.values():
    print(view.name, view.skip_key)
"""

from headrace.pipeline.requirement import require_planner

require_planner()

# ruff: noqa: E402  (where a package is missing, the line above speaks first)
# isort: split
from headrace.pipeline.api import Project
from headrace.pipeline.bundle.bundle import Bundle, decode_bundle
from headrace.pipeline.bundle.cause import Cause, CauseKind, explain_change, explain_view
from headrace.pipeline.bundle.key import KeyParts, SourcePart
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.contract import Contract, Evolution
from headrace.pipeline.engine import Engine
from headrace.pipeline.functions.declaration import (
    aggregate,
    function,
    table_function,
    window,
)
from headrace.pipeline.functions.definition import Function, FunctionKind, Volatility
from headrace.pipeline.project.header import Materialise, Tier, WriteMode
from headrace.pipeline.project.view import view
from headrace.pipeline.runs.difference import RunDifference
from headrace.pipeline.runs.record import RunKind, RunRecord, RunStatus, ViewRun, ViewStatus
from headrace.pipeline.sources.pin import SourcePin

__all__ = [
    "Bundle",
    "Cause",
    "CauseKind",
    "Contract",
    "Engine",
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
