"""The inputs of planning, and the protocols by which planning consults Spark.

All that a plan depends on is one value here. The planner imports no Spark: callers that have a
session pass the analysis in through a protocol.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Protocol

import msgspec
import pyarrow as pa

from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.project.setting import Settings, VariableValue
from headrace.pipeline.project.view import BuilderView, View
from headrace.pipeline.sources.source import PinnedSource


class BuilderAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """What Spark reports about a builder view before it runs."""

    reads: tuple[str, ...]
    """The sources and views that the builder reads, in lower case, sorted."""
    columns: Mapping[str, frozenset[str]]
    """The columns that it uses of each relation, in lower case."""
    schema: pa.Schema
    fingerprint: str
    """A hash of the analysed plan, equal in every session."""
    volatile: tuple[str, ...] = ()
    """Why the builder may return different rows for the same data; empty if it is deterministic."""


class BuilderAnalyst(Protocol):
    """Analyses builder views, with a Spark session."""

    @property
    def is_ready(self) -> bool:
        """Whether a session is running; if not, `analyse` starts one."""

    def analyse(self, view: BuilderView, schemas: Mapping[str, pa.Schema]) -> BuilderAnalysis:
        """Build a view over empty tables, and analyse its plan."""


class ViewChecker(Protocol):
    """Checks the SQL of views, with a Spark session."""

    def check(
        self, bundle: Bundle, schemas: Mapping[str, pa.Schema], views: Collection[str]
    ) -> None:
        """Check views; `schemas` are those of the sources.

        Raises:
            InvalidViewError: a view is invalid; the first one is reported.
        """


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of planning a project."""

    views: Mapping[str, View]
    sources: Mapping[str, PinnedSource]
    catalog: Catalog
    settings: Settings
    variables: Mapping[str, VariableValue]
    root: Path
    """The project's folder."""
    spark_settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Spark settings that can change a result in ways that the planner does not know."""
    runner: str
    """The runner and its version, such as `spark 4.3.0`."""
    planner: str
    """DataFusion and its version."""
    previous: Mapping[str, ViewPlan] = msgspec.field(default_factory=dict)
    """The plan of each view's last successful run. Digests can be carried forward from it, and
    Spark's analysis of an unchanged builder can be reused."""
    builders: BuilderAnalyst | None = None
    """Analyses builder views; if None, only builders with a reusable older plan are planned."""
