"""The plan of one view: all that is known of it before it runs."""

from enum import StrEnum

import msgspec
import pyarrow as pa

from headrace.pipeline.analysis.lineage import Lineage
from headrace.pipeline.analysis.lint import Finding
from headrace.pipeline.arrow_ddl import parse_schema
from headrace.pipeline.bundle.key import KeyParts
from headrace.pipeline.bundle.scan_unit import ScanUnit
from headrace.pipeline.contract import Violation
from headrace.pipeline.project.header import Header
from headrace.pipeline.project.setting import VariableValue, variable_value


class ViewKind(StrEnum):
    """How a view is written."""

    SQL = "sql"
    BUILDER = "builder"


class BuilderFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What Spark has told about a builder: it holds as long as its code and its inputs do."""

    over: dict[str, str]
    """By relation that it may read, the columns that the relation had then."""
    columns: dict[str, tuple[str, ...]]
    """By relation that it does read, the columns that it uses, in lower case."""
    fingerprint: str
    """Of the analysed plan."""
    volatile: tuple[str, ...] = ()
    """Why it may give another result next time."""


class ViewPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One view, planned."""

    name: str
    kind: ViewKind
    file: str
    sql: str | None
    """The author's text, which Spark runs as it stands; None for a builder."""
    header: Header
    variables: dict[str, str]
    """The variables that the text names as `:name`, as `variable_text` writes them."""
    reads: tuple[str, ...]
    """The sources and views that the text itself names, sorted. `Bundle.inlined` and
    `Bundle.upstream` tell what follows from it."""
    schema: str | None
    """The columns of the result in Spark's words; None where only a run can tell."""
    unplanned: str | None
    """Why DataFusion has no plan for it; None if it has. Such a view runs, without pruning."""
    unpruned: str | None
    """Why its filters prune no files though it is planned; None if they do."""
    datafusion_sql: str | None
    refused: str | None = None
    """Why it does not run on DataFusion; None if it does. Its plan is then good for Spark only:
    it tells what is read, and is not run itself."""
    substrait: bytes | None
    """The canonical plan, over tables and columns with names in lower case."""
    lineage: Lineage | None
    builder: BuilderFacts | None
    """What Spark told about a builder; None for SQL, and where no session was there."""
    findings: tuple[Finding, ...]
    order_free: bool
    """Whether the same rows in other files give the same result."""
    unproved: tuple[Violation, ...]
    """What the contract promises and only the data can tell: that a column has no nulls."""
    units: tuple[ScanUnit, ...]
    """What it reads of each source, itself or through the views it inlines."""
    key: KeyParts
    plan_fingerprint: str
    """What is computed."""
    skip_key: str | None
    """What its result depends on; None if it must run every time."""

    @property
    def arrow_schema(self) -> pa.Schema | None:
        """The columns of the result."""
        return None if self.schema is None else parse_schema(self.schema)

    @property
    def arguments(self) -> dict[str, VariableValue]:
        """The values of the variables: what Spark takes as named parameters of the text."""
        return {name: variable_value(text) for name, text in self.variables.items()}

    def unit(self, source: str) -> ScanUnit:
        """The unit of a source that the view reads."""
        return next(unit for unit in self.units if unit.source == source)
