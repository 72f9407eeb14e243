"""Engines: one failed, or refused a plan."""

from headrace.errors.root import HeadraceError


class EngineError(HeadraceError):
    """An engine failed or refused a plan."""


class EngineFailedError(EngineError):
    """An engine in another process failed after exhausting its own retries."""

    code = "ENGINE_FAILED"

    def __init__(self, *, engine: str, reason: str) -> None:
        self.engine, self.reason = engine, reason
        super().__init__(
            f"{engine} failed: {reason}; check its log, and that its workers have this version "
            "of headrace and can reach the table"
        )


class PlanRefusedError(EngineError):
    """An engine cannot execute this plan; another one has to."""

    code = "PLAN_REFUSED"

    def __init__(self, *, engine: str, node: str, reason: str) -> None:
        self.engine, self.node, self.reason = engine, node, reason
        super().__init__(
            f"{engine} cannot execute {node}: {reason}; execute it on the embedded engine"
        )
