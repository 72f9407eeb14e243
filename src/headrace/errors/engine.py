"""An engine did not do what it was asked."""

from headrace.errors.root import HeadraceError


class EngineError(HeadraceError):
    """An engine did not do what it was asked."""


class EngineFailedError(EngineError):
    """An engine that runs elsewhere gave up, after all its own tries."""

    code = "ENGINE_FAILED"

    def __init__(self, *, engine: str, reason: str) -> None:
        self.engine, self.reason = engine, reason
        super().__init__(
            f"{engine} failed: {reason}; look at its log, and check that its workers have this "
            "version of headrace and reach the table"
        )


class PlanRefusedError(EngineError):
    """An engine does not take this plan; another one must."""

    code = "PLAN_REFUSED"

    def __init__(self, *, engine: str, node: str, reason: str) -> None:
        self.engine, self.node, self.reason = engine, node, reason
        super().__init__(
            f"{engine} does not execute {node}: {reason}; execute it on the embedded engine"
        )
