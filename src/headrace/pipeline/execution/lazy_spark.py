"""Opens Spark on first use, so that a run that skips every view starts no JVM.

A profile and the caller's session, if there is one, enter; a session leaves when it is first
needed.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headrace.pipeline import wiring
from headrace.pipeline.planner.plan_request import BuilderAnalysis
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.view import BuilderView


class LazySpark:
    """The Spark session of a run; it also analyses builder views for the planner."""

    def __init__(self, profile: Profile, session: Any = None) -> None:
        """Take the caller's session, or None to open one on first use.

        Raises:
            SessionError: the session has no driver in this process: Spark Connect.
        """
        self._profile = profile
        self.callers_session = None if session is None else wiring.take_spark(session)
        """The caller's session; None if there is none."""
        self._session = self.callers_session

    @property
    def is_ready(self) -> bool:
        """Whether a session is open."""
        return self._session is not None

    def open(self) -> Any:
        """Return the session: the caller's, the running one, or a new local one.

        Raises:
            MissingExtraError, JavaNotFoundError: Spark cannot run here.
        """
        if self._session is None:
            self._session = wiring.open_spark(self._profile)
        return self._session

    def analyse(self, view: BuilderView, schemas: Mapping[str, pa.Schema]) -> BuilderAnalysis:
        """Have Spark analyse what a builder reads."""
        return wiring.builder_analyst(self.open()).analyse(view, schemas)
