"""A bundle: the plan of a project, pinned and frozen.

Three hashes are kept apart: each view's plan fingerprint (what is computed), each view's skip
key (what it depends on), and the bundle's id (both, with the pins).
"""

from collections.abc import Mapping

import msgspec

from headrace.errors import BundleDamagedError
from headrace.pipeline.bundle.digest import canonical_json, digest_of
from headrace.pipeline.bundle.view_plan import ViewPlan
from headrace.pipeline.page.graph import planned_graph
from headrace.pipeline.page.notebook import notebook_html
from headrace.pipeline.planning.query import parse_query
from headrace.pipeline.project.header import Materialise
from headrace.pipeline.project.setting import Settings
from headrace.pipeline.sources.pin import SourcePin

FORMAT = 1


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run needs to know, and a replay to do it again."""

    id: str
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
    return Bundle(
        id=_id(engine, planner, pins, views),
        format=FORMAT,
        project=project,
        engine=engine,
        planner=planner,
        settings=settings,
        pins=dict(pins),
        order=tuple(views),
        views=dict(views),
    )


def decode_bundle(encoded: bytes) -> Bundle:
    """Read a stored bundle, and make sure that it is what its id stands for.

    Raises:
        BundleDamagedError: it is not.
    """
    try:
        bundle = msgspec.json.decode(encoded, type=Bundle)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleDamagedError(bundle="(unreadable)", reason=str(error)) from error
    if bundle.format != FORMAT:
        reason = f"it is of format {bundle.format}, and this version reads {FORMAT}"
        raise BundleDamagedError(bundle=bundle.id, reason=reason)
    if bundle.id != _id(bundle.engine, bundle.planner, bundle.pins, bundle.views):
        raise BundleDamagedError(bundle=bundle.id, reason="its content gives another id")
    for view in bundle.views.values():
        _verify(bundle.id, view)
    return bundle


def _verify(bundle: str, view: ViewPlan) -> None:
    """A text that was altered gives other words; altered parts give another key."""
    if view.sql is not None and parse_query(view.sql, file=view.file).tokens != view.key.tokens:
        reason = f"the text of view {view.name} is not the one that was planned"
        raise BundleDamagedError(bundle=bundle, reason=reason)
    if view.key.skip_key() != view.skip_key:
        raise BundleDamagedError(bundle=bundle, reason=f"the parts of {view.name} give another key")


def _id(
    engine: str, planner: str, pins: Mapping[str, SourcePin], views: Mapping[str, ViewPlan]
) -> str:
    return digest_of(
        {
            "format": FORMAT,
            "engine": engine,
            "planner": planner,
            "pins": {name: pin.identity() for name, pin in pins.items()},
            "views": {
                name: {
                    "plan": view.plan_fingerprint,
                    "key": view.skip_key or view.key.definition_key(),
                    "units": {unit.source: unit.digest for unit in view.units},
                }
                for name, view in views.items()
            },
        }
    )
