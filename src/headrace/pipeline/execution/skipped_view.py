"""Records the views that a run does not compute: skipped, inlined or left out.

Decisions enter; the record of each such view leaves, with the earlier result that its readers read.
"""

from collections.abc import Iterator, Mapping

import msgspec

from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import Action, Decision
from headrace.pipeline.execution.recorder import Finished
from headrace.pipeline.place import Place
from headrace.pipeline.runners.task import TableResult, Upstream
from headrace.pipeline.runs.run_record import ViewRun, ViewStatus

_STATUS = {
    Action.SKIP: ViewStatus.SKIPPED,
    Action.INLINE: ViewStatus.INLINED,
    Action.LEAVE_OUT: ViewStatus.LEFT_OUT,
}


def skipped_views(
    bundle: Bundle, decisions: Mapping[str, Decision], *, outputs: Place
) -> Iterator[Finished]:
    """Yield the record of each view that does not run, with the earlier result that it keeps."""
    for name, decision in decisions.items():
        if decision.action is Action.RUN:
            continue
        view = ViewRun(
            view=name,
            status=_STATUS[decision.action],
            reason=decision.reason,
            plan_fingerprint=bundle[name].plan_fingerprint,
        )
        last = decision.last
        if decision.unrecorded is not None:
            view = _with_unrecorded_commit(view, decision, outputs / name)
        elif decision.action is Action.SKIP and last is not None:
            view = msgspec.structs.replace(
                view,
                skip_key=decision.skip_key or last.record.skip_key,
                upstream_keys=last.record.upstream_keys,
                digest=last.record.digest,
                output=last.record.output,
                result_of=last.record.result_of or last.run,
            )
        elif decision.action is Action.LEAVE_OUT and last is not None:
            view = msgspec.structs.replace(view, output=last.record.output)
        yield Finished(view=view, result=_result(view, outputs))


def _with_unrecorded_commit(view: ViewRun, decision: Decision, table: Place) -> ViewRun:
    """Return the record of a view whose commit no run has recorded."""
    noted = decision.unrecorded
    assert noted is not None, "checked by the caller"
    return msgspec.structs.replace(
        view,
        skip_key=decision.skip_key,
        upstream_keys=noted.note.upstream_keys,
        digest=noted.note.digest,
        output=noted.as_output(table),
        result_of=noted.note.run,
    )


def _result(view: ViewRun, outputs: Place) -> Upstream | None:
    if view.output is None:
        return None
    return TableResult(table=outputs.at(view.output.uri), version=view.output.version)
