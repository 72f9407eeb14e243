"""One view, run: computed, checked against its contract, committed, and written down."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from threading import Lock

import msgspec
import pyarrow as pa

from headrace.errors import ContractViolatedError, HeadraceError, RunCancelledError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.contract import Contract
from headrace.pipeline.execution.decision import Decision
from headrace.pipeline.execution.environment import now_ms
from headrace.pipeline.execution.marking import MarkBook
from headrace.pipeline.functions.catalog import Catalog
from headrace.pipeline.output.commit import commit_output
from headrace.pipeline.output.layout import lay_out
from headrace.pipeline.output.note import CommitNote, refuse_foreign_table
from headrace.pipeline.output.pending import Intent, Intents, discard
from headrace.pipeline.output.write import OutputWrite
from headrace.pipeline.project.header import Header, Materialise, WriteMode
from headrace.pipeline.runners.task import (
    KeptResult,
    Runner,
    TableResult,
    Upstream,
    ViewResult,
    ViewTask,
)
from headrace.pipeline.runs.artifact import PlanStage
from headrace.pipeline.runs.digest import RowDigest
from headrace.pipeline.runs.file_mark import FileMark
from headrace.pipeline.runs.record import Failure, RunRecord, ViewRun, ViewStatus

_LONGEST_ERROR = 4000
_RAISED_IN_PYTHON = re.compile(r"PyErr \{ type: .*?, value: (.*?), traceback: ", re.DOTALL)
"""How DataFusion tells of an exception in a function of the project."""
_PYTHON_STACK = "Traceback (most recent call last)"
"""How Spark does."""


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run writes."""

    outputs: Path
    staging: Path
    intents: Intents


class ViewWork:
    """Runs the views of one run; several threads use it."""

    def __init__(  # noqa: PLR0913  (all that views of a run share)
        self,
        record: RunRecord,
        bundle: Bundle,
        *,
        runner: Runner,
        catalog: Catalog,
        marks: MarkBook,
        places: Places,
        full_refresh: bool = False,
        analyse: bool = False,
        read_instead: Mapping[str, Upstream] | None = None,
    ) -> None:
        """Take what the views share; results of views that do not run are added."""
        self._read_instead = read_instead or {}
        self._record, self._bundle, self._runner = record, bundle, runner
        self._catalog, self._book, self._places = catalog, marks, places
        self._full_refresh, self._analyse = full_refresh, analyse
        self._lock = Lock()
        self.results: dict[str, Upstream] = {}
        """By view, what its readers read."""
        self.plans: dict[str, dict[PlanStage, str]] = {}
        self.marks: dict[str, dict[str, tuple[FileMark, ...]]] = {}

    def run(self, decision: Decision) -> ViewRun:
        """Run a view; what goes wrong is part of the answer.

        Raises:
            RunCancelledError: the run has been cancelled.
        """
        plan = self._bundle[decision.view]
        started_ms, start = now_ms(), time.monotonic()
        made = ViewRun(
            view=plan.name,
            status=ViewStatus.RAN,
            reason=decision.reason,
            causes=decision.causes,
            started_ms=started_ms,
            skip_key=decision.skip_key,
            upstream_keys=decision.upstream_keys,
            plan_fingerprint=plan.plan_fingerprint,
            result_of=self._record.id,
        )
        try:
            made = self._compute(plan, made)
        except RunCancelledError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever an engine raises is about the view)
            failure = Failure(code=_code(error), text=_text(error))
            changes = {"status": ViewStatus.FAILED, "reason": failure.text, "failure": failure}
            made = msgspec.structs.replace(made, **changes, skip_key=None, result_of=None)
        duration_ms = round(1000 * (time.monotonic() - start))
        return msgspec.structs.replace(made, duration_ms=duration_ms)

    def _compute(self, plan: ViewPlan, made: ViewRun) -> ViewRun:
        functions = {n: part for n, part in plan.key.functions.items() if n != plan.name}
        self._catalog.verify(plan.name, functions)
        marks = self._book.mark(plan)
        table = self._table(plan)
        header = plan.header if plan.header.materialise is Materialise.OUTPUT else Header()
        mode = WriteMode.OVERWRITE if self._full_refresh else header.write
        if table is None:
            result = self._runner.compute(self._task(plan, folder=None))
            check_result(plan.header.contract, result.schema, result.digest)
            return self._finished(plan, made, result, marks, KeptResult(name=plan.name))
        folder = table / f"run-{self._record.id}"
        intent = Intent(
            run=self._record.id,
            view=plan.name,
            table=str(table),
            folder=str(folder),
            started_ms=now_ms(),
        )
        self._places.intents.note(intent)
        try:
            if not self._full_refresh:
                refuse_foreign_table(table, view=plan.name, project=self._bundle.project)
            planned = plan.arrow_schema
            if planned is not None:  # else the engine says what is wrong, or it is seen afterwards
                header = lay_out(plan.name, planned, header)
            task = self._task(plan, folder=folder, partition_by=header.partition_by)
            result = self._runner.compute(task)
            check_result(plan.header.contract, result.schema, result.digest)
            header = lay_out(plan.name, result.schema, header)
            write = OutputWrite(
                table=table,
                folder=folder,
                schema=stored_schema(result.schema, plan.header.contract),
                header=header,
                note=self._note(plan, made, result.digest),
            )
            is_merge = mode is WriteMode.MERGE
            output = self._runner.merge(write) if is_merge else commit_output(write, mode)
        except BaseException:
            discard(intent)
            self._places.intents.settle(intent)
            raise
        self._places.intents.settle(intent)
        made = msgspec.structs.replace(made, output=output)
        stands = TableResult(uri=output.uri, version=output.version)
        return self._finished(plan, made, result, marks, stands)

    def _finished(
        self,
        plan: ViewPlan,
        made: ViewRun,
        result: ViewResult,
        marks: dict[str, tuple[FileMark, ...]],
        stands: Upstream,
    ) -> ViewRun:
        with self._lock:
            self.results[plan.name] = self._read_instead.get(plan.name, stands)
            self.plans[plan.name] = result.plans
            self.marks[plan.name] = marks
        return msgspec.structs.replace(
            made,
            digest=result.digest,
            job_ids=result.job_ids,
            output=made.output if plan.header.materialise is Materialise.OUTPUT else None,
        )

    def _table(self, plan: ViewPlan) -> Path | None:
        match plan.header.materialise:
            case Materialise.OUTPUT:
                return self._places.outputs / plan.name
            case Materialise.STAGING:
                return self._places.staging / plan.name
            case _:
                return None

    def _task(
        self, plan: ViewPlan, *, folder: Path | None, partition_by: tuple[str, ...] = ()
    ) -> ViewTask:
        upstream = self._bundle.upstream(plan.name)
        return ViewTask(
            plan=plan,
            inlined=tuple(self._bundle[name] for name in self._bundle.inlined(plan.name)),
            upstream={name: self.results[name] for name in upstream},
            planned={
                name: schema
                for name in upstream
                if (schema := self._bundle[name].arrow_schema) is not None
            },
            folder=folder,
            partition_by=partition_by,
            analyse=self._analyse,
        )

    def _note(self, plan: ViewPlan, made: ViewRun, digest: RowDigest) -> CommitNote:
        return CommitNote(
            project=self._bundle.project,
            view=plan.name,
            run=self._record.id,
            bundle=self._bundle.id,
            started_ms=self._record.started_ms,
            skip_key=made.skip_key,
            upstream_keys=made.upstream_keys,
            digest=digest,
        )


def check_result(contract: Contract | None, schema: pa.Schema, digest: RowDigest) -> None:
    """Check what a view gave against what it promised, nulls by the rows themselves.

    Raises:
        ContractViolatedError: it is something else.
    """
    if contract is None:
        return
    fields = [field.with_nullable(digest.nulls.get(field.name, 0) > 0) for field in schema]
    violations = contract.check(pa.schema(fields))
    if violations:
        raise ContractViolatedError(violations=[*map(str, violations)])


def stored_schema(schema: pa.Schema, contract: Contract | None) -> pa.Schema:
    """The columns of a table: nullable, but for those of which the contract promises otherwise."""
    promised = {c.name.casefold(): c.nullable for c in contract.columns} if contract else {}
    return pa.schema(
        [f.with_nullable(promised.get(f.name.casefold(), True)).remove_metadata() for f in schema]
    )


def clear_staging(staging: Path) -> None:
    """Remove staging tables, of this run or of one that did not live to do it."""
    rmtree(staging, ignore_errors=True)


def _code(error: Exception) -> str:
    return error.code if isinstance(error, HeadraceError) else type(error).__name__


def _text(error: Exception) -> str:
    """What an engine says, without the stack of its own that it adds."""
    told = str(error).split("\n\tat ")[0].split("JVM stacktrace")[0].strip()
    raised = _RAISED_IN_PYTHON.search(told)
    if raised is not None:
        told = raised[1]
    elif _PYTHON_STACK in told:  # what was raised stands last, and is wanted first
        lines = told.split("\n SQLSTATE")[0].strip().splitlines()
        told = f"{lines[-1]}\n{told}"
    return (told or type(error).__name__)[:_LONGEST_ERROR]
