"""The tripwire: a policy that uses newest-first scans only for plain adds and removes.

Headrace handles every action newest first, so the lenient policy needs no check. The strict policy
is for users who want the traditional, cautious rule: any other action in a commit makes the whole
scan a forward scan, before the first file is emitted.
"""

from collections.abc import Sequence
from enum import StrEnum

from headrace.errors import FallbackForbiddenError, HeadraceError
from headrace.log.segment import Segment
from headrace.metrics.event import FellBack
from headrace.phases.phase import Consume, Phase
from headrace.phases.recovery import user_facing_error
from headrace.phases.scan import plan_forward_scan, plan_scan
from headrace.phases.scan_request import ScanOutcome, ScanRequest
from headrace.plan.batch import Batch
from headrace.plan.node import FirstOfEach, Node, ScanJson
from headrace.protocol.action import ACTION_TYPES

_OTHER_ACTIONS = tuple(name for name in ACTION_TYPES if name not in {"add", "remove"})


class Fallback(StrEnum):
    """Whether a scan may use another strategy than the requested one."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"


class CheckTripwire(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Searches the commits for anything but adds and removes."""

    request: ScanRequest
    segment: Segment
    fallback: Fallback

    def plan(self) -> Node:
        """Read every commit, for the newest of each other action."""
        commits = ScanJson(files=self.segment.commits_newest_first, columns=_OTHER_ACTIONS)
        return FirstOfEach(input=commits, columns=_OTHER_ACTIONS)

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:
        """Scan newest first if nothing was found, else forward."""
        for batch in self.actions(data):
            for name in _OTHER_ACTIONS:
                if batch.actions(name):
                    return self._fall_back(f"{batch.source.path} holds {name}")
        return plan_scan(self.request, self.segment)

    def failed(self, error: HeadraceError) -> Phase[ScanOutcome]:
        """Raise the error: commits have no other source."""
        raise user_facing_error(error, self)

    def _fall_back(self, reason: str) -> Phase[ScanOutcome]:
        if self.fallback is Fallback.FORBIDDEN:
            raise FallbackForbiddenError(table=self.request.table, reason=reason)
        event = FellBack(table=self.request.table, reason=reason)
        return plan_forward_scan(self.request, self.segment, events=(event,))
