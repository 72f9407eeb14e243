"""Changes to code that is reached by a computed name, which no source can be followed to."""

from tests.pipeline.function_changes.change import ON_IMPORT, changed

COMPUTED_NAME_CHANGES = [
    changed(
        "getattr of a module",
        "import helpers\n",
        "A = 1",
        "A = 2",
        "helpers.py:A",
        expression='getattr(helpers, "a".upper())',
        helpers="A = 1\n",
    ),
    changed(
        "importlib with a name that is written out",
        'import importlib\nhelpers = importlib.import_module("helpers")\n',
        "A = 1",
        "A = 2",
        "helpers.py:A",
        expression="helpers.A",
        helpers="A = 1\n",
    ),
    changed(
        "importlib with a computed name",
        'import importlib\nhelpers = importlib.import_module("help" + "ers")\n',
        "A = 1",
        "A = 2",
        "helpers.py, which counts as a whole, changed",
        expression="helpers.A",
        helpers="A = 1\n",
    ),
    changed(
        "__import__",
        "",
        "A = 1",
        "A = 2",
        "helpers.py, which counts as a whole, changed",
        expression='__import__("help" + "ers").A',
        helpers="A = 1\n",
    ),
    changed(
        "exec",
        'exec("from helpers import A")\n',
        "A = 1",
        "A = 2",
        "helpers.py, which counts as a whole, changed",
        expression="A",
        helpers="A = 1\n",
    ),
    changed(
        "eval",
        "A = 1\n",
        "A = 1",
        "A = 2",
        "functions.py, which counts as a whole, changed",
        expression='eval("A")',
    ),
    changed(
        "globals()",
        "A = 1\n",
        "A = 1",
        "A = 2",
        "functions.py, which counts as a whole, changed",
        expression='globals()["A"]',
    ),
    changed(
        "comment next to an eval", "A = 1  # one\n", "# one", "# two", None, expression='eval("A")'
    ),
    changed(
        "name bound through globals()",
        'globals()["A"] = 1\n',
        '"A"] = 1',
        '"A"] = 2',
        ON_IMPORT,
        expression="A",
    ),
    changed(
        "sys.modules",
        'import sys\nimport helpers\nM = sys.modules["helpers"]\n',
        "A = 1",
        "A = 2",
        "helpers.py, which counts as a whole, changed",
        expression="M.A",
        helpers="A = 1\n",
    ),
    changed(
        "folder added to the import path",
        """
        import sys
        from pathlib import Path
        sys.path.insert(0, str(Path(__file__).parent / "libs"))
        from tools_in_libs import A
        """,
        "A = 1",
        "A = 2",
        "libs/tools_in_libs.py, which counts as a whole, changed",
        expression="A",
        files={"libs/tools_in_libs.py": "A = 1\n"},
    ),
    changed(
        "global names of a function",
        "A = 1\ndef f(x): return x\n",
        "A = 1",
        "A = 2",
        "functions.py, which counts as a whole, changed",
        expression='f.__globals__["A"]',
    ),
    changed(
        "docstring that is read",
        'def f(x):\n    """One."""\n    return x\n',
        "One.",
        "Four.",
        "functions.py, which counts as a whole, changed",
        expression="len(f.__doc__)",
    ),
    changed(
        "source that is read",
        "import inspect\ndef f(x): return x  # one\n",
        "# one",
        "# three",
        "functions.py, which counts as a whole, changed",
        expression="len(inspect.getsource(f))",
    ),
]
