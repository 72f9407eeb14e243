"""What plans are made of, and who is asked about builders."""

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
from headrace.pipeline.sources.source import Source


class BuilderAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine tells about a builder view before it runs."""

    reads: tuple[str, ...]
    """The sources and views that it reads, in lower case, sorted."""
    columns: Mapping[str, frozenset[str]]
    """By relation, the columns that it uses, in lower case."""
    schema: pa.Schema
    fingerprint: str
    """Of its analysed plan: the same in every session."""
    volatile: tuple[str, ...] = ()
    """Why it may give another result next time."""


class BuilderAnalyst(Protocol):
    """Who can tell what a builder view reads: a runner with a session."""

    @property
    def is_ready(self) -> bool:
        """Whether it can answer at once; else asking starts an engine."""

    def analyse(self, view: BuilderView, schemas: Mapping[str, pa.Schema]) -> BuilderAnalysis:
        """Build the view over tables without rows, and look at the plan."""


class ViewChecker(Protocol):
    """Who can tell whether the text of a view is right: an engine with a session."""

    def check(
        self, bundle: Bundle, schemas: Mapping[str, pa.Schema], views: Collection[str]
    ) -> None:
        """Raise `InvalidViewError` for the first view that is wrong; `schemas` are of sources."""


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """All that plans are made of."""

    views: Mapping[str, View]
    sources: Mapping[str, Source]
    catalog: Catalog
    settings: Settings
    variables: Mapping[str, VariableValue]
    root: Path
    """The project's folder."""
    spark_settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Settings of Spark that can change a result; what they change is not known to the planner."""
    engine: str
    """The runner and its version."""
    planner: str
    """DataFusion and its version."""
    previous: Mapping[str, ViewPlan] = msgspec.field(default_factory=dict)
    """By view, the plan of its last good run: digests may be carried forward from it, and what
    Spark told about a builder then still holds if nothing has changed."""
    builders: BuilderAnalyst | None = None
    """Who is asked about builders; without, and without an older plan, they are not planned."""
