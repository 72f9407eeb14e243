"""The views of a run that are not computed in it: skipped, inlined or left out."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import Action, Decision
from headrace.pipeline.execution.recorder import Finished
from headrace.pipeline.runners.task import TableResult, Upstream
from headrace.pipeline.runs.record import OutputVersion, ViewRun, ViewStatus

_STATUS = {
    Action.SKIP: ViewStatus.SKIPPED,
    Action.INLINE: ViewStatus.INLINED,
    Action.LEAVE_OUT: ViewStatus.LEFT_OUT,
}


def unrun_views(
    bundle: Bundle, decisions: Mapping[str, Decision], *, outputs: Path
) -> Iterator[Finished]:
    """Record each view that does not run, with the result that stands for it."""
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
            view = _unrecorded(view, decision, outputs / name)
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
        yield Finished(view=view, result=_result(view))


def _unrecorded(view: ViewRun, decision: Decision, table: Path) -> ViewRun:
    """A view whose commit stands though the run that made it is not on record."""
    noted = decision.unrecorded
    assert noted is not None, "the caller has looked"
    return msgspec.structs.replace(
        view,
        skip_key=decision.skip_key,
        upstream_keys=noted.note.upstream_keys,
        digest=noted.note.digest,
        output=OutputVersion(
            uri=str(table),
            version=noted.version,
            files=0,
            size_bytes=0,
            commit_id=noted.commit_id,
            transaction=noted.note.started_ms,
        ),
        result_of=noted.note.run,
    )


def _result(view: ViewRun) -> Upstream | None:
    if view.output is None:
        return None
    return TableResult(uri=view.output.uri, version=view.output.version)
