"""A bundle: the plan of a project, pinned and frozen.

Three hashes are kept apart: each view's plan fingerprint (what is computed), each view's skip
key (what it depends on), and the bundle's id (all that decides a result). A fourth, the seal,
covers every byte of the encoding: two bundles that differ in a comment have the same id and
different seals, and a stored bundle that was altered in any way is refused.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from headrace.errors import BundleDamagedError
from headrace.pipeline.bundle import format_1
from headrace.pipeline.bundle.ancestry import Ancestry, trace_ancestry
from headrace.pipeline.bundle.digest import canonical_json, digest_of
from headrace.pipeline.bundle.file_list import FileList, FilesByDigest, no_files
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.page.graph import planned_graph
from headrace.pipeline.page.notebook import notebook_html
from headrace.pipeline.project.header import Materialise
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.sources.pin import SourcePin

FORMAT = 2

_BUNDLE_NAMES = ("id", "seal", "project")
_PIN_NAMES = ("uri", "origin", "timestamp_ms", "options")
_VIEW_NAMES = ("sql", "file", "findings", "lineage", "unplanned", "unpruned", "refused")
_HEADER_NAMES = ("description",)
_UNIT_NAMES = ("files_total",)
"""The fields that decide no result, so that they are no part of the id: where things are, who chose
them, and reports about them. The words of a view's text are in its key."""


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run needs to know, and a replay to do it again."""

    id: str
    """The same for all bundles that give the same results, on every machine."""
    seal: str
    """A digest of every other byte of the encoding."""
    format: int
    project: str
    engine: str
    """The runner that it is planned for, and its version."""
    planner: str
    """The planner and its version."""
    settings: Settings
    pins: dict[str, SourcePin]
    order: tuple[str, ...]
    """The views, each behind all that it reads."""
    views: dict[str, ViewPlan]

    def __getitem__(self, view: str) -> ViewPlan:
        return self.views[view]

    def ancestry(self, view: str) -> Ancestry | None:
        """The columns of sources behind a view, through all that it reads; None if not known."""
        return trace_ancestry(self.views, view)

    def inlined(self, view: str) -> tuple[str, ...]:
        """The views that are computed as part of one (`materialise none`), in order."""
        return self._reached(view)[0]

    def upstream(self, view: str) -> tuple[str, ...]:
        """The materialised views that one reads, itself or through those it inlines, in order."""
        return self._reached(view)[1]

    def _reached(self, view: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        inlined: set[str] = set()
        upstream: set[str] = set()
        waiting = [view]
        while waiting:
            for name in self.views[waiting.pop()].reads:
                if name not in self.views or name in inlined:
                    continue
                if self.views[name].header.materialise is Materialise.NONE:
                    inlined.add(name)
                    waiting.append(name)
                else:
                    upstream.add(name)
        return tuple(n for n in self.order if n in inlined), tuple(
            n for n in self.order if n in upstream
        )

    def _repr_html_(self) -> str:
        """The graph, in a notebook."""
        graph = planned_graph(self.views, self.pins, {})
        return notebook_html(
            graph, title=self.project, note=f"{self.engine}, bundle {self.id[:12]}"
        )

    def encode(self) -> bytes:
        """The bundle as canonical JSON."""
        return canonical_json(self)


def make_bundle(  # noqa: PLR0913  (the parts of a bundle)
    *,
    project: str,
    engine: str,
    planner: str,
    settings: Settings,
    pins: Mapping[str, SourcePin],
    views: Mapping[str, ViewPlan],
) -> Bundle:
    """Put a bundle together; `views` are in the order in which they are to run."""
    unnamed = Bundle(
        id="",
        seal="",
        format=FORMAT,
        project=project,
        engine=engine,
        planner=planner,
        settings=settings,
        pins=dict(pins),
        order=tuple(views),
        views=dict(views),
    )
    bundle_id = _id(msgspec.json.decode(unnamed.encode()))
    unsealed = msgspec.structs.replace(unnamed, id=bundle_id)
    return msgspec.structs.replace(unsealed, seal=_seal(unsealed.encode()))


def decode_bundle(encoded: bytes, *, files: FilesByDigest = no_files) -> Bundle:
    """Read a stored bundle, and make sure that it is what its id and its seal stand for.

    Only stored bytes are compared with stored digests: nothing is parsed or planned again, so the
    answer does not depend on the versions of the packages that made the bundle.

    Args:
        encoded: What `Bundle.encode` gave.
        files: Reads the files that the digest of a scan unit stands for.

    Raises:
        BundleDamagedError: it was altered, or is of a format that this version cannot read.
    """
    try:
        stored = msgspec.json.decode(encoded)
        head = msgspec.convert(stored, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleDamagedError(bundle="(unreadable)", reason=str(error)) from error
    try:
        if head.format == format_1.FORMAT:
            _check(head, format_1.bundle_id(stored))
            encoded, files = format_1.upgrade(stored)
        elif head.format == FORMAT:
            _check_seal(head, encoded)
            _check(head, _id(stored))
        else:
            reason = f"it is of format {head.format}, and this version reads {FORMAT} and older"
            raise BundleDamagedError(bundle=head.id, reason=reason)
        return msgspec.json.decode(encoded, type=Bundle, dec_hook=_list_decoder(files))
    except (msgspec.DecodeError, LookupError, TypeError, AttributeError) as error:
        reason = f"a part of it is missing or has another form ({error})"
        raise BundleDamagedError(bundle=head.id, reason=reason) from error


def is_intact(encoded: bytes) -> bool:
    """Whether an encoding is as it was when it was made; its content is not looked at."""
    try:
        head = msgspec.json.decode(encoded, type=_Head)
        _check_seal(head, encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, BundleDamagedError):
        return False
    return True


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """What bundles of every format have."""

    id: str
    format: int
    seal: str = ""


def _check(head: _Head, expected_id: str) -> None:
    if head.id != expected_id:
        raise BundleDamagedError(bundle=head.id, reason="its content gives another id")


def _check_seal(head: _Head, encoded: bytes) -> None:
    unsealed = encoded.replace(f'"seal":"{head.seal}"'.encode(), b'"seal":""')
    if not head.seal or _seal(unsealed) != head.seal:
        raise BundleDamagedError(bundle=head.id, reason="it is not as it was when it was made")


def _seal(unsealed: bytes) -> str:
    """The seal of an encoding whose seal is empty."""
    return sha256(unsealed).hexdigest()


def _id(stored: dict[str, Any]) -> str:
    """The digest of what is stored, without the fields that decide no result."""
    deciding = _without(stored, _BUNDLE_NAMES)
    deciding["pins"] = {n: _without(pin, _PIN_NAMES) for n, pin in stored["pins"].items()}
    deciding["views"] = {
        name: _without(view, _VIEW_NAMES)
        | {
            "header": _without(view["header"], _HEADER_NAMES),
            "units": [_without(unit, _UNIT_NAMES) for unit in view["units"]],
        }
        for name, view in stored["views"].items()
    }
    return digest_of(deciding)


def _without(fields: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _list_decoder(files: FilesByDigest) -> Callable[[type, Any], Any]:
    def decode(kind: type, value: Any) -> Any:
        if kind is FileList:
            return FileList(value, files)
        raise NotImplementedError(f"nothing decodes a {kind.__name__}")

    return decode
