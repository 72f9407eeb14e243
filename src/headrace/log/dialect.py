"""The dialects of a log: where its files are, and the role of states in it."""

from enum import Enum

import msgspec


class StateRole(Enum):
    """The role of a state in its log."""

    COMMIT = "commit"
    """The state is part of the log: a version may have no other record. Damage is an error."""
    ACCELERATOR = "accelerator"
    """The state repeats what the log says. Damage costs time, and is reported."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """How a table keeps its log."""

    name: str
    log_directory: str
    state_root: str
    """The folder of the states and manifests."""
    state_role: StateRole


DELTA = Dialect(
    name="delta",
    log_directory="_delta_log",
    state_root="_headrace",
    state_role=StateRole.ACCELERATOR,
)
INDEXTABLES = Dialect(
    name="indextables",
    log_directory="_transaction_log",
    state_root="_transaction_log",
    state_role=StateRole.COMMIT,
)
