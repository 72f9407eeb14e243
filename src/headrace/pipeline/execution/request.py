"""What a caller asks of a run."""

from typing import Any

import msgspec


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as it is asked for; `Project.run` documents each field."""

    engine: str
    profile: str = "default"
    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    variables: dict[str, Any] = {}
    pins: dict[str, int] = {}
    full_refresh: bool = False
    analyse: bool = False
    run_id: str | None = None
    bundle: str | None = None
    """A stored bundle to run instead of planning the project."""
