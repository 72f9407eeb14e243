"""Phases and executors were used against their contract: the fault of a programmer."""

from headrace.errors.root import HeadraceError


class MachineError(HeadraceError):
    """Phases and executors were used against their contract."""


class NotTerminalError(MachineError):
    """The terminal value was asked for before the machine had reached it."""

    code = "NOT_TERMINAL"

    def __init__(self, *, phase: str) -> None:
        self.phase = phase
        super().__init__(
            f"the machine stands at {phase} and has no value yet; iterate it to the end, or call "
            "run_to_terminal()"
        )


class PhaseUnfinishedError(MachineError):
    """The next phase was asked for before all batches of this one were given out."""

    code = "PHASE_UNFINISHED"

    def __init__(self, *, phase: str) -> None:
        self.phase = phase
        super().__init__(
            f"{phase} has batches that were not given out; iterate its run to the end before "
            "asking for the next phase"
        )


class NotFrozenError(MachineError):
    """A seen set that is still being filled was sent to another process."""

    code = "NOT_FROZEN"

    def __init__(self) -> None:
        super().__init__("a seen set can be pickled only once it is frozen: finish the commits")


class UnexpectedBatchError(MachineError):
    """An executor answered a plan with a batch of the wrong kind."""

    code = "UNEXPECTED_BATCH"

    def __init__(self, *, phase: str, expected: str, got: str) -> None:
        self.phase, self.expected, self.got = phase, expected, got
        super().__init__(
            f"{phase} asked for {expected} and got {got}; see the contract of "
            "headrace.plan.Executor"
        )
