"""Spark, opened when it is first needed: a run that skips everything starts no JVM."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headrace.pipeline import wiring
from headrace.pipeline.planner.request import BuilderAnalysis
from headrace.pipeline.project.profile import Profile
from headrace.pipeline.project.view import BuilderView


class LazySpark:
    """The session of a run, and whom the planner asks about builder views."""

    def __init__(self, profile: Profile, session: Any = None) -> None:
        """Take the caller's session, if there is one.

        Raises:
            SessionError: the session has no driver in this process: Spark Connect.
        """
        self._profile = profile
        self.given = None if session is None else wiring.take_spark(session)
        """The caller's session, if there is one."""
        self._session = self.given

    @property
    def is_ready(self) -> bool:
        """Whether there is a session already."""
        return self._session is not None

    def open(self) -> Any:
        """The session: the caller's, the running one, or a local one.

        Raises:
            MissingExtraError, JavaNotFoundError: Spark cannot run here.
        """
        if self._session is None:
            self._session = wiring.open_spark(self._profile)
        return self._session

    def analyse(self, view: BuilderView, schemas: Mapping[str, pa.Schema]) -> BuilderAnalysis:
        """Ask Spark what a builder reads."""
        return wiring.builder_analyst(self.open()).analyse(view, schemas)
