"""A page whose every text tries to become markup."""

from pathlib import Path

from headrace.pipeline import Project
from headrace.pipeline.page.document import Heading, render_page
from headrace.pipeline.page.story import RunLine, Status, Story
from tests.pipeline.page.project import VIEWS, write_project

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"


def evil_page(root: Path) -> str:
    sql = f"-- @description {EVIL}\nSELECT id, {EVIL!r} AS text FROM orders"
    project = Project.load(write_project(root, {**VIEWS, "evil": sql}))
    bundle = project.plan()
    run = RunLine(run=EVIL, started=EVIL, outcome=Status.RAN, took=EVIL, rows=EVIL, note=EVIL)
    story = Story(status=Status.FAILED, why=EVIL, next_run=(EVIL,), runs_newest_first=(run,))
    heading = Heading(project=EVIL, description=EVIL, subtitle=EVIL)
    return render_page(heading, bundle.views, bundle.pins, {"evil": story})
