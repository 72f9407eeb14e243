"""The page of a project's folder, as it stands now."""

from os import PathLike

from headrace.pipeline.api import Project
from headrace.pipeline.page.document import Heading, render_page
from headrace.pipeline.page.graph import planned_graph
from headrace.pipeline.page.history import read_stories
from headrace.pipeline.page.mermaid import mermaid


def project_page(folder: str | PathLike[str]) -> str:
    """Plan a project, and write its page.

    Raises:
        PipelineError: it cannot be planned as it stands.
        TableError: a source is not there.
    """
    project = Project.load(folder)
    bundle = project.plan()
    heading = Heading(
        project=project.name,
        description=project.manifest.project.description,
        subtitle=f"planned for {bundle.engine} by {bundle.planner} · bundle {bundle.id[:12]}",
    )
    return render_page(heading, bundle.views, bundle.pins, read_stories(project.store))


def project_mermaid(folder: str | PathLike[str]) -> str:
    """Plan a project, and write its graph as Mermaid text.

    Raises:
        PipelineError: it cannot be planned as it stands.
        TableError: a source is not there.
    """
    project = Project.load(folder)
    bundle = project.plan()
    return mermaid(planned_graph(bundle.views, bundle.pins, read_stories(project.store)))
