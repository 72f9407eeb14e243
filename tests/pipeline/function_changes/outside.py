"""Changes outside the project: packages without a version, and files that are found by package."""

from tests.pipeline.function_changes.change import Change, Files, changed, functions

_READS_DATA = """
from pathlib import Path
A = int(Path(__file__).with_name("n.txt").read_text())
"""


def _outside(
    name: str, code: str, says: str | None, *, expression: str, files: tuple[Files, Files]
) -> Change:
    """Change files outside a project that stays the same."""
    project = {"functions.py": functions(code, expression)}
    return Change(name, project, project, says, outside=files)


def _resource(name: str, code: str, expression: str) -> Change:
    files = {"pkg/__init__.py": "", "pkg/n.txt": "1\n"}
    says = "file pkg/n.txt changed"
    return changed(name, code, "1\n", "2\n", says, expression=expression, files=files)


_LARGE = {f"local_tools/m{number}.py": "" for number in range(51)}

OUTSIDE_CHANGES = [
    _outside(
        "local package of many files",
        "import local_tools\n",
        "local_tools, which counts as a whole, changed",
        expression="local_tools.A",
        files=(
            {**_LARGE, "local_tools/__init__.py": "A = 1\n"},
            {**_LARGE, "local_tools/__init__.py": "A = 2\n"},
        ),
    ),
    _outside(
        "unrelated constant of a local package",
        "import local_tools\n",
        None,
        expression="local_tools.A",
        files=(
            {"local_tools.py": "A = 1\nB = 1\n"},
            {"local_tools.py": "A = 1\nB = 2\n"},
        ),
    ),
    _outside(
        "submodule of a local package",
        "from local_tools.sub import A\n",
        "its helper local_tools/sub.py:A changed",
        expression="A",
        files=(
            {"local_tools/__init__.py": "", "local_tools/sub.py": "A = 1\n"},
            {"local_tools/__init__.py": "", "local_tools/sub.py": "A = 2\n"},
        ),
    ),
    _outside(
        "data file of a local package",
        "import local_tools\n",
        "file n.txt changed",
        expression="local_tools.A",
        files=(
            {"local_tools/__init__.py": _READS_DATA, "local_tools/n.txt": "1"},
            {"local_tools/__init__.py": _READS_DATA, "local_tools/n.txt": "2"},
        ),
    ),
    _outside(
        "data file next to a local module",
        "import local_tools\n",
        "file n.txt changed",
        expression="local_tools.A",
        files=(
            {"local_tools.py": _READS_DATA, "n.txt": "1"},
            {"local_tools.py": _READS_DATA, "n.txt": "2"},
        ),
    ),
    _outside(
        "module that a local package imports by name",
        "import local_tools\n",
        "local_deep.py:A changed",
        expression="local_tools.A",
        files=(
            {
                "local_tools.py": "import importlib\nA = importlib.import_module('local_deep').A\n",
                "local_deep.py": "A = 1\n",
            },
            {
                "local_tools.py": "import importlib\nA = importlib.import_module('local_deep').A\n",
                "local_deep.py": "A = 2\n",
            },
        ),
    ),
    _outside(
        "local package that evaluates text",
        "import local_tools\n",
        "local_tools, which counts as a whole, changed",
        expression="local_tools.a()",
        files=(
            {"local_tools.py": "A = 1\ndef a(): return eval('A')\n"},
            {"local_tools.py": "A = 2\ndef a(): return eval('A')\n"},
        ),
    ),
    _outside(
        "local package that appears",
        "try:\n    from local_tools import A\nexcept ImportError:\n    A = 0\n",
        "local_tools.py:A is new",
        expression="A",
        files=(
            {},
            {"local_tools.py": "A = 1\n"},
        ),
    ),
    _resource(
        "text of a package",
        "from importlib.resources import read_text\n",
        "int(read_text('pkg', 'n.txt'))",
    ),
    _resource(
        "binary file of a package",
        "import importlib.resources as r\n",
        "int(r.open_binary('pkg', 'n.txt').read())",
    ),
    _resource(
        "file of a package that is imported",
        "import importlib.resources as r\nimport pkg\n",
        "int((r.files(pkg) / 'n.txt').read_text())",
    ),
    changed(
        "module that a class imports",
        "class K:\n    import helpers\n",
        "A = 1",
        "A = 2",
        "its helper helpers.py:A changed",
        expression="K.helpers.A",
        helpers="A = 1\n",
    ),
]
