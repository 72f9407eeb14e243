"""Runs one view: computes it, checks its contract, and commits its table.

An error before the commit fails the view, and its staged files are removed. An error after the
commit is a warning: the result is valid.
"""

import time
from collections.abc import Mapping

import msgspec
import pyarrow as pa

from headrace.commit.upkeep import write_checkpoint_if_due
from headrace.errors import ContractViolatedError, RunCancelledError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.contract import Contract
from headrace.pipeline.execution.decision import Decision
from headrace.pipeline.execution.environment import now_ms
from headrace.pipeline.execution.failure import describe_failure
from headrace.pipeline.execution.mark_book import MarkBook
from headrace.pipeline.execution.prepare import verify_code
from headrace.pipeline.execution.recorder import Finished
from headrace.pipeline.execution.staleness import find_unrecorded_commit
from headrace.pipeline.execution.workspace import Workspace
from headrace.pipeline.output.commit import commit_output
from headrace.pipeline.output.layout import lay_out
from headrace.pipeline.output.note import CommitNote, NotedVersion, refuse_foreign_table
from headrace.pipeline.output.write import OutputWrite
from headrace.pipeline.place import Place
from headrace.pipeline.project.header import Header, Materialise, WriteMode
from headrace.pipeline.project.project import ProjectFiles
from headrace.pipeline.runners.task import (
    KeptResult,
    Runner,
    TableResult,
    Upstream,
    ViewResult,
    ViewTask,
)
from headrace.pipeline.runs.row_digest import RowDigest
from headrace.pipeline.runs.run_record import RunRecord, ViewRun, ViewStatus
from headrace.pipeline.sources.resolution import find_source_at


class ViewWork(msgspec.Struct, frozen=True, kw_only=True):
    """The resources that all views of a run share. It is used by several threads."""

    record: RunRecord
    bundle: Bundle
    runner: Runner
    project: ProjectFiles
    marks: MarkBook
    workspace: Workspace
    full_refresh: bool = False
    analyse: bool = False

    def run(self, decision: Decision, upstream: Mapping[str, Upstream]) -> Finished:
        """Run a view over its upstream results; an error becomes a failed record.

        Raises:
            RunCancelledError: the run has been cancelled.
        """
        plan = self.bundle[decision.view]
        started_ms, start = now_ms(), time.monotonic()
        view = ViewRun(
            view=plan.name,
            status=ViewStatus.RAN,
            reason=decision.reason,
            causes=decision.causes,
            started_ms=started_ms,
            skip_key=decision.skip_key,
            upstream_keys=decision.upstream_keys,
            plan_fingerprint=plan.plan_fingerprint,
            result_of=self.record.id,
        )
        try:
            finished = self._compute(plan, view, upstream)
        except RunCancelledError:
            raise
        except Exception as error:  # noqa: BLE001  (any error of a runner fails the view)
            failure = describe_failure(error)
            changes = {"status": ViewStatus.FAILED, "reason": failure.text, "failure": failure}
            finished = Finished(
                view=msgspec.structs.replace(view, **changes, skip_key=None, result_of=None)
            )
        duration_ms = round(1000 * (time.monotonic() - start))
        timed = msgspec.structs.replace(finished.view, duration_ms=duration_ms)
        return msgspec.structs.replace(finished, view=timed)

    def _compute(self, plan: ViewPlan, view: ViewRun, upstream: Mapping[str, Upstream]) -> Finished:
        self.workspace.lock.check()
        verify_code(self.project, plan)
        self.marks.mark(plan)
        table = self._table(plan)
        if table is None:
            result = self.runner.compute(self._task(plan, upstream))
            check_result(plan.header.contract, result.schema, result.digest)
            in_memory = KeptResult(name=plan.name)
            return Finished(view=_with_result(view, result), result=in_memory, plans=result.plans)
        source = self._source_at(table) if self.full_refresh else None
        if source is not None or not self.full_refresh:
            refuse_foreign_table(table, view=plan.name, project=self.bundle.project, source=source)
        view, computed = self._write(plan, view, table, upstream)
        assert view.output is not None, "a view that was written has an output"
        table_result = TableResult(table=table, version=view.output.version)
        if plan.header.materialise is not Materialise.OUTPUT:
            view = msgspec.structs.replace(view, output=None)
        plans = {} if computed is None else computed.plans
        return Finished(view=view, result=table_result, plans=plans)

    def _write(
        self, plan: ViewPlan, view: ViewRun, table: Place, upstream: Mapping[str, Upstream]
    ) -> tuple[ViewRun, ViewResult | None]:
        """Compute a view into staged files of its table, and commit them.

        Nothing is computed if a run of another copy of the project has appended the same result
        since this run decided what to do.
        """
        header = plan.header if plan.header.materialise is Materialise.OUTPUT else Header()
        mode = WriteMode.OVERWRITE if self.full_refresh else header.write
        journal = self.workspace.journal
        with journal.open(table, run=self.record.id, view=plan.name) as staging:
            if mode is WriteMode.APPEND and (same := self._find_same(view, table)) is not None:
                return msgspec.structs.replace(
                    view, output=same.as_output(table), digest=same.note.digest
                ), None
            planned = plan.arrow_schema
            if planned is not None:  # else the result shows what is wrong with the layout
                header = lay_out(plan.name, planned, header)
            rows = f"{staging.name}/rows"
            task = self._task(plan, upstream, folder=table / rows, partition_by=header.partition_by)
            result = self.runner.compute(task)
            check_result(plan.header.contract, result.schema, result.digest)
            header = lay_out(plan.name, result.schema, header)
            view = _with_result(view, result)
            write = OutputWrite(
                staging=staging,
                rows=rows,
                schema=stored_schema(result.schema, plan.header.contract),
                header=header,
                note=self._note(view, result.digest),
            )
            output = commit_output(write, mode, merge=self.runner.merge)
        problem = write_checkpoint_if_due(table.uri, version=output.version, options=table.options)
        warnings = () if problem is None else (f"no checkpoint was written: {problem}",)
        view = msgspec.structs.replace(view, output=output, warnings=(*view.warnings, *warnings))
        return view, result

    def _find_same(self, view: ViewRun, table: Place) -> NotedVersion | None:
        return find_unrecorded_commit(
            table,
            project=self.bundle.project,
            view=view.view,
            skip_key=view.skip_key,
            run=None,
            write=WriteMode.APPEND,
        )

    def _source_at(self, table: Place) -> str | None:
        """Return the source of the project at the address of an output; None if there is none."""
        return find_source_at(table, self.project.manifest.sources, root=self.project.root)

    def _table(self, plan: ViewPlan) -> Place | None:
        match plan.header.materialise:
            case Materialise.OUTPUT:
                return self.workspace.outputs / plan.name
            case Materialise.STAGING:
                return self.workspace.staging / plan.name
            case _:
                return None

    def _task(
        self,
        plan: ViewPlan,
        upstream: Mapping[str, Upstream],
        *,
        folder: Place | None = None,
        partition_by: tuple[str, ...] = (),
    ) -> ViewTask:
        return ViewTask(
            plan=plan,
            inlined=tuple(self.bundle[name] for name in self.bundle.inlined(plan.name)),
            upstream=dict(upstream),
            planned={
                name: schema
                for name in upstream
                if (schema := self.bundle[name].arrow_schema) is not None
            },
            folder=folder,
            partition_by=partition_by,
            order_by=_ordering(plan.header.contract, partition_by) if folder else (),
            analyse=self.analyse,
        )

    def _note(self, view: ViewRun, digest: RowDigest) -> CommitNote:
        return CommitNote(
            project=self.bundle.project,
            view=view.view,
            run=self.record.id,
            bundle=self.bundle.id,
            started_ms=self.record.started_ms,
            skip_key=view.skip_key,
            upstream_keys=view.upstream_keys,
            digest=digest,
        )


def check_result(contract: Contract | None, schema: pa.Schema, digest: RowDigest) -> None:
    """Check a result against the contract of its view; nulls are counted in the rows.

    Raises:
        ContractViolatedError: the result does not fulfil the contract.
    """
    if contract is None:
        return
    fields = [field.with_nullable(digest.nulls.get(field.name, 0) > 0) for field in schema]
    violations = contract.check(pa.schema(fields))
    if violations:
        raise ContractViolatedError(violations=[*map(str, violations)])


def stored_schema(schema: pa.Schema, contract: Contract | None) -> pa.Schema:
    """Return the columns of a table: nullability and comments from the contract, else nullable."""
    promised = {column.name.casefold(): column for column in contract.columns} if contract else {}
    fields = []
    for field in schema:
        column = promised.get(field.name.casefold())
        plain = field.remove_metadata().with_nullable(column is None or column.nullable)
        comment = column.comment if column is not None else ""
        fields.append(plain.with_metadata({"comment": comment}) if comment else plain)
    return pa.schema(fields)


def _ordering(contract: Contract | None, partition_by: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sort order that a contract promises, within each partition."""
    if contract is None or not contract.ordering:
        return ()
    return (*partition_by, *contract.ordering)


def _with_result(view: ViewRun, result: ViewResult) -> ViewRun:
    """Add a result to the record of a view; a result that is not deterministic has no skip key."""
    return msgspec.structs.replace(
        view,
        digest=result.digest,
        job_ids=result.job_ids,
        volatile=result.volatile,
        fallback=result.fallback,
        skip_key=None if result.volatile else view.skip_key,
    )
