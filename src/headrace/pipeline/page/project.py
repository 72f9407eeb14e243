"""The page of a project's folder, as it stands now."""

from collections.abc import Collection, Mapping
from os import PathLike

import msgspec

from headrace.pipeline.analysis.graph import descendants
from headrace.pipeline.api import Project
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewKind
from headrace.pipeline.engine import Engine
from headrace.pipeline.execution.decision import Action, Decider, Decision, LastResults
from headrace.pipeline.page.document import Heading, render_page
from headrace.pipeline.page.graph import planned_graph
from headrace.pipeline.page.history import read_stories
from headrace.pipeline.page.mermaid import mermaid
from headrace.pipeline.page.story import NO_STORY, Story


def project_page(folder: str | PathLike[str]) -> str:
    """Plan a project, and write its page.

    Raises:
        PipelineError: it cannot be planned as it stands.
        TableError: a source is not there.
    """
    project = Project.load(folder)
    bundle, stories = _look(project)
    heading = Heading(
        project=project.name,
        description=project.manifest.project.description,
        subtitle=f"planned for {bundle.engine} by {bundle.planner} · bundle {bundle.id[:12]}",
    )
    return render_page(heading, bundle.views, bundle.pins, stories)


def project_mermaid(folder: str | PathLike[str]) -> str:
    """Plan a project, and write its graph as Mermaid text.

    Raises:
        PipelineError: it cannot be planned as it stands.
        TableError: a source is not there.
    """
    bundle, stories = _look(Project.load(folder))
    return mermaid(planned_graph(bundle.views, bundle.pins, stories))


def _look(project: Project) -> tuple[Bundle, dict[str, Story]]:
    """The plan for the runner that was last used, and how each view stands."""
    newest = project.runs(limit=1)
    engine = newest[0].engine.partition(" ")[0] if newest else Engine.SPARK
    last = project.state.last_results(project.views)
    bundle = project.plan(engine=engine, previous={n: found.plan for n, found in last.items()})
    stories = read_stories(project.store)
    if not newest:
        return bundle, stories
    decided = _decide(project, bundle, last)
    return bundle, {
        name: msgspec.structs.replace(stories.get(name, NO_STORY), next_run=_reasons(decision))
        for name, decision in decided.items()
    }


def _decide(project: Project, bundle: Bundle, last: LastResults) -> Mapping[str, Decision | None]:
    """What a run would do now; None where only Spark could tell, which is not started for this."""
    decider = Decider(bundle, selected=set(bundle.order), last=last, outputs=project.state.outputs)
    unknown = _behind_builders(bundle)
    return {
        name: None if name in unknown else decision for name, decision in decider.decide().items()
    }


def _behind_builders(bundle: Bundle) -> Collection[str]:
    builders = [name for name, view in bundle.views.items() if view.kind is ViewKind.BUILDER]
    reads = {name: view.reads for name, view in bundle.views.items()}
    return {*builders, *descendants(reads, builders)}


def _reasons(decision: Decision | None) -> tuple[str, ...] | None:
    """Why a view would run; empty if it would be skipped, None if there is nothing to say."""
    if decision is None or decision.action not in {Action.RUN, Action.SKIP}:
        return None
    if decision.action is Action.SKIP:
        return ()
    return tuple(map(str, decision.causes)) or (decision.reason,)
