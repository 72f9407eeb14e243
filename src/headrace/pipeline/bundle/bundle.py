"""The bundle: the pinned, frozen plan of a project.

A bundle has four kinds of hashes. The plan fingerprint of a view covers what it computes, the skip
key of a view covers everything that its result depends on, and the id of the bundle covers
everything that determines a result. The seal covers every byte of the encoding: two bundles that
differ in a comment have the same id and different seals, and a stored bundle that was altered in
any way is rejected.
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from headrace.errors import BundleDamagedError
from headrace.pipeline.bundle import format_1
from headrace.pipeline.bundle.ancestry import Ancestry, trace_ancestry
from headrace.pipeline.bundle.content_hash import canonical_json, content_hash
from headrace.pipeline.bundle.file_list import FileList, FilesByDigest, no_files
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.page.drawing import notebook_html
from headrace.pipeline.page.view_graph import planned_graph
from headrace.pipeline.project.header import Materialise
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.sources.source_pin import SourcePin

FORMAT = 2

_BUNDLE_NAMES = ("id", "seal", "project")
_PIN_NAMES = ("uri", "origin", "timestamp_ms", "options")
_VIEW_NAMES = ("sql", "file", "findings", "lineage", "unplanned", "unpruned", "refused")
_HEADER_NAMES = ("description",)
_UNIT_NAMES = ("files_total",)
"""The fields that determine no result, and so are not part of the id: locations, who chose them,
and reports. The tokens of a view's SQL are in its key."""


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a project: everything that a run needs, and that a replay repeats."""

    id: str
    """Equal for all bundles that compute the same results, on every machine."""
    seal: str
    """A hash of every other byte of the encoding."""
    format: int
    project: str
    engine: str
    """The runner that the bundle is planned for, and its version."""
    planner: str
    """The planner and its version."""
    settings: Settings
    pins: dict[str, SourcePin]
    order: tuple[str, ...]
    """The views, each after the views that it reads."""
    views: dict[str, ViewPlan]

    def __getitem__(self, view: str) -> ViewPlan:
        return self.views[view]

    def ancestry(self, view: str) -> Ancestry | None:
        """Return the source columns that a view depends on; None if they are not known."""
        return trace_ancestry(self.views, view)

    def inlined(self, view: str) -> tuple[str, ...]:
        """Return the views that are computed as part of a view (`materialise none`), in order."""
        return self._inlined_and_upstream(view)[0]

    def with_inlined(self, views: Iterable[str]) -> set[str]:
        """Return some views and all views that are computed as part of them."""
        parts = set(views)
        waiting = list(parts)
        while waiting:
            for name in self.views[waiting.pop()].reads:
                if name not in parts and self._is_inlined(name):
                    parts.add(name)
                    waiting.append(name)
        return parts

    def _is_inlined(self, name: str) -> bool:
        view = self.views.get(name)
        return view is not None and view.header.materialise is Materialise.NONE

    def upstream(self, view: str) -> tuple[str, ...]:
        """Return the materialised views that a view reads, directly or inlined, in order."""
        return self._inlined_and_upstream(view)[1]

    def _inlined_and_upstream(self, view: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the views of `inlined`, and those of `upstream`."""
        inlined: set[str] = set()
        upstream: set[str] = set()
        waiting = [view]
        while waiting:
            for name in self.views[waiting.pop()].reads:
                if name not in self.views or name in inlined:
                    continue
                if self._is_inlined(name):
                    inlined.add(name)
                    waiting.append(name)
                else:
                    upstream.add(name)
        return tuple(n for n in self.order if n in inlined), tuple(
            n for n in self.order if n in upstream
        )

    def _repr_html_(self) -> str:
        """Return the graph, for notebooks."""
        graph = planned_graph(self.views, self.pins, {})
        return notebook_html(
            graph, title=self.project, note=f"{self.engine}, bundle {self.id[:12]}"
        )

    def encode(self) -> bytes:
        """Return the bundle as canonical JSON."""
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
    """Make a bundle with its id and seal; `views` are in the order in which they run."""
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
    """Decode a stored bundle, and check its id and seal.

    Stored bytes are compared with stored hashes; nothing is parsed or planned again, so the check
    does not depend on the versions of the packages that made the bundle.

    Args:
        encoded: The result of `Bundle.encode`.
        files: Reads the file list of a scan unit, given its digest.

    Raises:
        BundleDamagedError: the bundle was altered, or its format is not supported.
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
            reason = f"it has format {head.format}, and this version reads {FORMAT} and older"
            raise BundleDamagedError(bundle=head.id, reason=reason)
        return msgspec.json.decode(encoded, type=Bundle, dec_hook=_list_decoder(files))
    except (msgspec.DecodeError, LookupError, TypeError, AttributeError) as error:
        reason = f"a part of it is missing or malformed ({error})"
        raise BundleDamagedError(bundle=head.id, reason=reason) from error


def is_intact(encoded: bytes) -> bool:
    """Return whether the seal of an encoded bundle is valid; the content is not decoded."""
    try:
        head = msgspec.json.decode(encoded, type=_Head)
        _check_seal(head, encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, BundleDamagedError):
        return False
    return True


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that bundles of every format have."""

    id: str
    format: int
    seal: str = ""


def _check(head: _Head, expected_id: str) -> None:
    if head.id != expected_id:
        raise BundleDamagedError(bundle=head.id, reason="its content does not match its id")


def _check_seal(head: _Head, encoded: bytes) -> None:
    unsealed = encoded.replace(f'"seal":"{head.seal}"'.encode(), b'"seal":""')
    if not head.seal or _seal(unsealed) != head.seal:
        raise BundleDamagedError(bundle=head.id, reason="its content does not match its seal")


def _seal(unsealed: bytes) -> str:
    """Return the seal of an encoding whose seal is empty."""
    return sha256(unsealed).hexdigest()


def _id(stored: dict[str, Any]) -> str:
    """Return the id of a decoded bundle: a hash without the fields that determine no result."""
    identity = _without(stored, _BUNDLE_NAMES)
    identity["pins"] = {n: _without(pin, _PIN_NAMES) for n, pin in stored["pins"].items()}
    identity["views"] = {
        name: _without(view, _VIEW_NAMES)
        | {
            "header": _without(view["header"], _HEADER_NAMES),
            "units": [_without(unit, _UNIT_NAMES) for unit in view["units"]],
        }
        for name, view in stored["views"].items()
    }
    return content_hash(identity)


def _without(fields: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _list_decoder(files: FilesByDigest) -> Callable[[type, Any], Any]:
    def decode(kind: type, value: Any) -> Any:
        if kind is FileList:
            return FileList(value, files)
        raise NotImplementedError(f"{kind.__name__} cannot be decoded")

    return decode
