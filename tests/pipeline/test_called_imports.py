"""A function that imports modules of its project when it is called gets their current source."""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from headrace.pipeline.project.folder import read_functions
from tests.pipeline.embedded import rows, run_checked, statuses
from tests.pipeline.function_changes.change import HEAD, TAIL
from tests.pipeline.shop import replace_views, write_shop

LATE = "def late():\n    from helpers import A\n    return A\n"


@pytest.fixture(autouse=True)
def unchanged_modules() -> Iterator[None]:
    """Check that no call changes the modules, the path or the finders of the process."""
    path, finders = [*sys.path], [*sys.meta_path]
    yield
    assert (sys.path, sys.meta_path) == (path, finders)
    assert "helpers" not in sys.modules
    assert "kit" not in sys.modules


def write(root: Path, *, code: str, expression: str, **modules: str) -> Path:
    """Write a project with a function `points`, and modules by their paths."""
    root.mkdir(exist_ok=True)
    (root / "functions.py").write_text(HEAD + dedent(code) + TAIL.format(expression=expression))
    for path, text in modules.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(dedent(text))
    return root


def points(root: Path) -> int:
    (value,) = read_functions(root)["points"](pa.array([1])).to_pylist()
    return int(value)


def test_another_run_of_the_process_uses_the_edited_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_shop(tmp_path / "shop")
    write(root, code=LATE, expression="late()", **{"helpers.py": "A = 1\n"})
    view = "-- @materialise output\nSELECT max(points(id)) AS p FROM customers\n"
    replace_views(root, {"v": view})
    with monkeypatch.context() as patch:
        patch.syspath_prepend(root)  # as in a notebook in the project's folder
        assert statuses(run_checked(root)) == {"v": "ran"}
        assert rows(root, "v") == [{"p": 1}]
        (root / "helpers.py").write_text("A = 2\n")
        assert statuses(run_checked(root)) == {"v": "ran"}
        assert rows(root, "v") == [{"p": 2}]
        assert statuses(run_checked(root)) == {"v": "skipped"}


@pytest.mark.parametrize(
    ("code", "modules"),
    [
        (LATE, {"helpers.py": "A = 7\n"}),
        ("def late():\n    import helpers as h\n    return h.A\n", {"helpers.py": "A = 7\n"}),
        (
            "def late():\n    import importlib\n    return importlib.import_module('helpers').A\n",
            {"helpers.py": "A = 7\n"},
        ),
        (
            "def late():\n    from kit.deep import value\n    return value()\n",
            {
                "kit/__init__.py": "",
                "kit/deep.py": "def value():\n    from .deeper import A\n    return A\n",
                "kit/deeper.py": "A = 7\n",
            },
        ),
        (
            "def late():\n    import kit.deep\n    return kit.deep.A\n",
            {"kit/deep.py": "A = 7\n"},  # a namespace package
        ),
        (
            "late = lambda: __import__('help' + 'ers').A\n",
            {"helpers.py": "A = 7\n"},
        ),
    ],
    ids=["name", "module", "importlib", "relative", "namespace", "computed"],
)
def test_a_project_need_not_be_on_the_path(
    tmp_path: Path, code: str, modules: dict[str, str]
) -> None:
    assert points(write(tmp_path / "one", code=code, expression="late()", **modules)) == 7


def test_a_module_that_was_changed_on_import_is_the_same_when_called(tmp_path: Path) -> None:
    code = "import helpers\nhelpers.A = 5\n" + LATE
    root = write(tmp_path / "one", code=code, expression="late()", **{"helpers.py": "A = 1\n"})
    assert points(root) == 5


def test_functions_of_two_projects_import_their_own_modules(tmp_path: Path) -> None:
    catalogs = [
        read_functions(
            write(tmp_path / text[-1], code=LATE, expression="late()", **{"helpers.py": text})
        )
        for text in ("A = 1", "A = 2")
    ]
    results = [catalog["points"](pa.array([1])).to_pylist() for catalog in [*catalogs, *catalogs]]
    assert results == [[1], [2], [1], [2]]


def test_the_modules_are_those_that_were_loaded_with_the_project(tmp_path: Path) -> None:
    root = write(tmp_path / "one", code=LATE, expression="late()", **{"helpers.py": "A = 1\n"})
    function = read_functions(root)["points"]
    (root / "helpers.py").write_text("A = 2\n")
    assert function(pa.array([1])).to_pylist() == [1]


def test_a_pickled_function_takes_its_modules_along(tmp_path: Path) -> None:
    root = write(tmp_path / "one", code=LATE, expression="late()", **{"helpers.py": "A = 3\n"})
    function = read_functions(root)["points"]
    cloudpickle.register_pickle_by_value(sys.modules[function.kernel.__module__])  # type: ignore[no-untyped-call]
    pickled = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]
    (root / "helpers.py").unlink()
    assert cloudpickle.loads(pickled)(pa.array([1])).to_pylist() == [3]


def test_a_module_of_the_process_with_the_same_name_is_back_after_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "one", code=LATE, expression="late()", **{"helpers.py": "A = 3\n"})
    with monkeypatch.context() as patch:
        other = ModuleType("helpers")
        patch.setitem(sys.modules, "helpers", other)
        assert points(root) == 3
        assert sys.modules["helpers"] is other


def test_a_function_without_such_imports_takes_nothing_along(tmp_path: Path) -> None:
    code = "import helpers\nimport json\ndef f():\n    import math\n    return helpers.A\n"
    root = write(tmp_path / "one", code=code, expression="f()", **{"helpers.py": "A = 3\n"})
    assert read_functions(root)["points"].imports is None


def test_a_project_imports_its_own_module_although_the_process_has_another_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import helpers\n"
    root = write(tmp_path / "one", code=code, expression="helpers.A", **{"helpers.py": "A = 3\n"})
    with monkeypatch.context() as patch:
        other = ModuleType("helpers")
        vars(other).update(A=1, __file__=str(tmp_path / "elsewhere" / "helpers.py"))
        patch.setitem(sys.modules, "helpers", other)
        assert points(root) == 3
        assert sys.modules["helpers"] is other
