"""Programming errors: phases or executors were used against their contract."""

from headrace.errors.root import HeadraceError


class MachineError(HeadraceError):
    """Phases or executors were used against their contract."""


class NotTerminalError(MachineError):
    """The terminal value was requested before the machine had reached it."""

    code = "NOT_TERMINAL"

    def __init__(self, *, phase: str) -> None:
        self.phase = phase
        super().__init__(
            f"the machine is at {phase} and has no value yet; iterate it to the end, or call "
            "run_to_terminal()"
        )


class PhaseUnfinishedError(MachineError):
    """The next phase was requested before all batches of this one were consumed."""

    code = "PHASE_UNFINISHED"

    def __init__(self, *, phase: str) -> None:
        self.phase = phase
        super().__init__(
            f"{phase} still has batches; iterate it to the end before asking for the next phase"
        )


class NotFrozenError(MachineError):
    """A seen set was pickled while it was still being filled."""

    code = "NOT_FROZEN"

    def __init__(self) -> None:
        super().__init__(
            "a seen set can be pickled only after it is frozen; replay all commits first"
        )


class UnexpectedBatchError(MachineError):
    """An executor returned a batch of the wrong kind for a plan."""

    code = "UNEXPECTED_BATCH"

    def __init__(self, *, phase: str, expected: str, got: str) -> None:
        self.phase, self.expected, self.got = phase, expected, got
        super().__init__(
            f"{phase} expected {expected} and got {got}; see the contract of headrace.plan.Executor"
        )
