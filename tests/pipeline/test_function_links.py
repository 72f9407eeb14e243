"""Modules behind symbolic links are distinguished by their content, even if names are equal."""

from pathlib import Path

import pytest

from headrace.pipeline.project.folder import read_functions
from tests.pipeline.function_changes.change import functions


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Return a folder of modules with the same names, outside of any project."""
    folder = tmp_path / "shared"
    modules = dict.fromkeys(("one/x.py", "two/x.py"), "A = 1\n")
    write(folder, {"__init__.py": "", "one/__init__.py": "", "two/__init__.py": "", **modules})
    return folder


def make_project(root: Path, shared: Path, code: str, expression: str) -> Path:
    write(root, {"functions.py": functions(code, expression)})
    (root / "linked").symlink_to(shared)
    return root


def fingerprint(root: Path) -> str:
    return read_functions(root).part("points").fingerprint


@pytest.mark.parametrize("module", ["one", "two"])
def test_a_module_of_a_linked_folder_counts_next_to_its_namesake(
    module: str, shared: Path, tmp_path: Path
) -> None:
    code = "from linked.one.x import A\nfrom linked.two.x import A as B\n"
    root = make_project(tmp_path / "project", shared, code, "A + B")
    before = fingerprint(root)
    (shared / module / "x.py").write_text("A = 2\n")
    assert fingerprint(root) != before


def test_a_linked_folder_counts_if_all_code_of_a_project_does(shared: Path, tmp_path: Path) -> None:
    code = 'import importlib\nM = importlib.import_module(".".join(["linked", "one", "x"]))\n'
    root = make_project(tmp_path / "project", shared, code, "M.A")
    before = fingerprint(root)
    (shared / "one" / "x.py").write_text("A = 2\n")
    assert fingerprint(root) != before


def test_folders_that_link_to_each_other_are_read_once(shared: Path, tmp_path: Path) -> None:
    code = 'import importlib\nM = importlib.import_module(".".join(["linked", "one", "x"]))\n'
    root = make_project(tmp_path / "project", shared, code, "M.A")
    (shared / "back").symlink_to(root)
    before = fingerprint(root)
    (shared / "one" / "x.py").write_text("A = 2\n")
    assert fingerprint(root) != before
