"""The guard on served paths: its fast check misses nothing that the slow check finds."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import UnsafePathError
from headrace.serve.safety import FileGuard

ROOT = "/lake/events"
PATHS = st.lists(st.text("ab/.:%2eEfF0\x01é", max_size=8), max_size=6)


def leads_out(path: str) -> bool:
    """The slow check: a `..` segment, or an absolute path."""
    decoded = unquote(path, errors="replace")
    is_absolute = decoded.startswith("/") or re.match(r"[a-zA-Z][\w.]+:/", decoded, re.ASCII)
    return bool(is_absolute) or ".." in decoded.split("/")


@given(PATHS, st.integers(0, 3))
def test_a_path_that_leads_out_is_refused_at_any_position(paths: list[str], skip: int) -> None:
    column = pa.array([*(["/etc"] * skip), *paths], pa.string()).slice(skip)
    guard = FileGuard(ROOT, allowed=())
    refused = pytest.raises(UnsafePathError) if any(map(leads_out, paths)) else harmless()
    with refused:
        guard.check(pa.record_batch({"path": column}))


@given(PATHS, st.integers(0, 3))
def test_an_address_that_leaves_its_root_is_refused_at_any_position(
    paths: list[str], skip: int
) -> None:
    uris = [f"{ROOT}/{path}" for path in paths]
    column = pa.array([*(["/etc"] * skip), *uris], pa.string()).slice(skip)
    guard = FileGuard(ROOT, allowed=())
    leaves = any(".." in uri.split("/") for uri in uris)
    with pytest.raises(UnsafePathError) if leaves else nullcontext():
        guard.check(pa.record_batch({"uri": column}))


def test_a_root_in_a_hidden_folder_needs_no_regular_expression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(pc, "match_substring_regex")
    guard = FileGuard("/home/.lake/events", allowed=())
    guard.check(pa.record_batch({"uri": ["/home/.lake/events/a.parquet", "/home/.lake/events/b"]}))


@contextmanager
def harmless() -> Iterator[None]:
    """Expect no refusal, except of text that no writer would produce."""
    try:
        yield
    except UnsafePathError as error:
        if "UTF-8" not in str(error) and "control" not in str(error):
            raise
