"""Plans a project and renders its page or its Mermaid graph.

A project's folder enters; text leaves. The newest runs are read for the status of views, and what a
run would do now is decided, without starting Spark.
"""

from collections.abc import Collection, Mapping
from os import PathLike

import msgspec

from headrace.pipeline.analysis.graph import descendants
from headrace.pipeline.api import Project
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.bundle.view_plan import ViewKind
from headrace.pipeline.execution.decision import Action, Decider, Decision
from headrace.pipeline.execution.last_result import LastResults
from headrace.pipeline.page.document import Heading, render_page
from headrace.pipeline.page.mermaid import mermaid
from headrace.pipeline.page.story import NO_STORY, Story
from headrace.pipeline.page.story_reader import read_stories
from headrace.pipeline.page.view_graph import planned_graph
from headrace.pipeline.runner_kind import RunnerKind, runner_of


def project_page(folder: str | PathLike[str]) -> str:
    """Plan a project and return its page as HTML.

    Raises:
        PipelineError: the project cannot be planned.
        TableError: a source cannot be read.
    """
    project = Project.load(folder)
    bundle, stories = _plan_with_stories(project)
    heading = Heading(
        project=project.name,
        description=project.manifest.project.description,
        subtitle=f"planned for {bundle.engine} by {bundle.planner} · bundle {bundle.id[:12]}",
    )
    return render_page(heading, bundle.views, bundle.pins, stories)


def project_mermaid(folder: str | PathLike[str]) -> str:
    """Plan a project and return its graph as Mermaid text.

    Raises:
        PipelineError: the project cannot be planned.
        TableError: a source cannot be read.
    """
    bundle, stories = _plan_with_stories(Project.load(folder))
    return mermaid(planned_graph(bundle.views, bundle.pins, stories))


def _plan_with_stories(project: Project) -> tuple[Bundle, dict[str, Story]]:
    """Plan for the runner that was used last, and return the story of each view."""
    newest = project.runs(limit=1)
    runner = runner_of(newest[0].engine) if newest else RunnerKind.SPARK
    last = project.state.last_results(project.views)
    bundle = project.plan(engine=runner, previous={n: result.plan for n, result in last.items()})
    stories = read_stories(project.store)
    if not newest:
        return bundle, stories
    decisions = _decide(project, bundle, last)
    return bundle, {
        name: msgspec.structs.replace(stories.get(name, NO_STORY), next_run=_reasons(decision))
        for name, decision in decisions.items()
    }


def _decide(project: Project, bundle: Bundle, last: LastResults) -> Mapping[str, Decision | None]:
    """Return what a run would do now; None where it depends on Spark, which is not started."""
    decider = Decider(bundle, selected=set(bundle.order), last=last, outputs=project.state.outputs)
    unknown = _builders_and_readers(bundle)
    return {
        name: None if name in unknown else decision for name, decision in decider.decide().items()
    }


def _builders_and_readers(bundle: Bundle) -> Collection[str]:
    builders = [name for name, view in bundle.views.items() if view.kind is ViewKind.BUILDER]
    reads = {name: view.reads for name, view in bundle.views.items()}
    return {*builders, *descendants(reads, builders)}


def _reasons(decision: Decision | None) -> tuple[str, ...] | None:
    """Return why a view would run; empty if it would be skipped, None if neither applies."""
    if decision is None or decision.action not in {Action.RUN, Action.SKIP}:
        return None
    if decision.action is Action.SKIP:
        return ()
    return tuple(map(str, decision.causes)) or (decision.reason,)
