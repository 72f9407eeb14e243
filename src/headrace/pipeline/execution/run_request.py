"""The request for a run.

The arguments of `Project.run`, `decide` and `verify` as one value, which all steps of a run share.
"""

from typing import Any

import msgspec

from headrace.pipeline.runner_kind import RunnerKind


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for one run; `Project.run` documents each field."""

    runner: RunnerKind
    profile: str = "default"
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    variables: dict[str, Any] = {}
    pins: dict[str, int] = {}
    full_refresh: bool = False
    analyse: bool = False
    run_id: str | None = None
    bundle: str | None = None
    """The id of a stored bundle to run instead of planning the project."""
