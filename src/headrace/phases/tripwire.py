"""The tripwire: a policy that trusts the newest-first way only with plain adds and removes.

Headrace handles every action newest first, so the lenient policy needs no check. The strict
one is there for those who want the cautious rule of old: anything else in a commit sends the
whole scan the forward way, before the first file is given out.
"""

from collections.abc import Sequence
from enum import StrEnum

from headrace.errors import FallbackForbiddenError, HeadraceError
from headrace.log.segment import Segment
from headrace.metrics.event import FellBack
from headrace.phases.phase import Consume, Phase
from headrace.phases.recovery import user_facing_error
from headrace.phases.scan import ScanOutcome, ScanRequest, plan_forward_scan, plan_scan
from headrace.plan.batch import Batch
from headrace.plan.node import FirstOfEach, Node, ScanJson
from headrace.protocol.action import ACTION_TYPES

_OTHER_ACTIONS = tuple(name for name in ACTION_TYPES if name not in {"add", "remove"})


class Fallback(StrEnum):
    """Whether a scan may take another way than the one that was asked for."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"


class CheckTripwire(Consume[ScanOutcome], frozen=True, kw_only=True):
    """Looks through the commits for anything but adds and removes."""

    request: ScanRequest
    segment: Segment
    fallback: Fallback

    def plan(self) -> Node:
        """Every commit, for the newest of each other action."""
        commits = ScanJson(files=self.segment.commits_newest_first, columns=_OTHER_ACTIONS)
        return FirstOfEach(input=commits, columns=_OTHER_ACTIONS)

    def next(self, data: Sequence[Batch]) -> Phase[ScanOutcome]:
        """Newest first where nothing was found, else forward."""
        for batch in self.actions(data):
            for name in _OTHER_ACTIONS:
                if batch.actions(name):
                    return self._fall_back(f"{batch.source.path} holds {name}")
        return plan_scan(self.request, self.segment)

    def failed(self, error: HeadraceError) -> Phase[ScanOutcome]:
        """Commits have no other source."""
        raise user_facing_error(error, self)

    def _fall_back(self, reason: str) -> Phase[ScanOutcome]:
        if self.fallback is Fallback.FORBIDDEN:
            raise FallbackForbiddenError(table=self.request.table, reason=reason)
        event = FellBack(table=self.request.table, reason=reason)
        return plan_forward_scan(self.request, self.segment, events=(event,))
