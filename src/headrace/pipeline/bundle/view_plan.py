"""The plan of one view: everything that is known about it before it runs.

The planner makes it, a bundle stores it, and runs, pages and comparisons read it.
"""

from enum import StrEnum

import msgspec
import pyarrow as pa

from headrace.pipeline.analysis.lineage import Lineage
from headrace.pipeline.analysis.lint import Finding
from headrace.pipeline.arrow_ddl import parse_schema
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.bundle.skip_key import KeyParts
from headrace.pipeline.contract import Violation
from headrace.pipeline.project.header import Header
from headrace.pipeline.project.setting import VariableValue, variable_value


class ViewKind(StrEnum):
    """How a view is written."""

    SQL = "sql"
    BUILDER = "builder"


BUILDER_FORMAT = 2
"""The first analysis that finds the tables in subqueries, and those read while building."""


class BuilderFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Spark's analysis of a builder, valid while its code and inputs are unchanged."""

    over: dict[str, str]
    """The columns that each relation had at the time, by relation that it may read."""
    columns: dict[str, tuple[str, ...]]
    """The columns that it uses, in lower case, by relation that it reads."""
    fingerprint: str
    """A hash of the analysed plan."""
    volatile: tuple[str, ...] = ()
    """Why the builder may return different rows for the same data; empty if it is deterministic."""
    format: int = 1
    """Which analysis made them; facts of an older analysis may lack tables that are read."""


class ViewPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A planned view."""

    name: str
    kind: ViewKind
    file: str
    sql: str | None
    """The author's SQL, which Spark runs unchanged; None for a builder."""
    header: Header
    variables: dict[str, str]
    """The variables that the SQL uses as `:name`, encoded by `variable_text`."""
    reads: tuple[str, ...]
    """The sources and views that the SQL names, sorted; `Bundle.inlined` and `Bundle.upstream`
    return what it reads indirectly."""
    schema: str | None
    """The columns of the result in Spark's DDL; None if only a run can determine them."""
    unplanned: str | None
    """Why DataFusion cannot plan the view; None if it can. An unplanned view runs unpruned."""
    unpruned: str | None
    """Why its filters prune no files although it is planned; None if they do."""
    datafusion_sql: str | None
    refused: str | None = None
    """Why the view does not run on DataFusion; None if it does. A refused view's plan determines
    what is read, but is not executed."""
    substrait: bytes | None
    """The canonical plan, with table and column names in lower case."""
    lineage: Lineage | None
    builder: BuilderFacts | None
    """Spark's analysis of a builder; None for SQL, and if there was no session."""
    findings: tuple[Finding, ...]
    order_free: bool
    """Whether the result is independent of how rows are distributed over files."""
    unproved: tuple[Violation, ...]
    """Promises of the contract that only the data can prove, such as a column without nulls."""
    units: tuple[ScanUnit, ...]
    """What the view reads of each source, directly or through inlined views."""
    key: KeyParts
    plan_fingerprint: str
    """The hash of what is computed."""
    skip_key: str | None
    """The hash of everything that the result depends on; None if the view must run every time."""

    @property
    def arrow_schema(self) -> pa.Schema | None:
        """The columns of the result; None if only a run can determine them."""
        return None if self.schema is None else parse_schema(self.schema)

    @property
    def arguments(self) -> dict[str, VariableValue]:
        """The values of the variables, which Spark takes as named parameters."""
        return {name: variable_value(text) for name, text in self.variables.items()}

    def unit(self, source: str) -> ScanUnit:
        """Return the scan unit of a source."""
        return next(unit for unit in self.units if unit.source == source)
