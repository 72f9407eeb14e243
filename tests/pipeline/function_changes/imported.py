"""Changes to what a function imports, from the project and from folders outside it."""

from tests.pipeline.function_changes.change import ON_IMPORT, Change, changed, functions

IMPORTED_CHANGES = [
    changed(
        "what an import stands for",
        "from operator import add as op\n",
        "import add as op",
        "import sub as op",
        "functions.py:op",
        expression="op(x, 1)",
    ),
    changed(
        "star import",
        "from helpers import *\n",
        "A = 1",
        "A = 2",
        "helpers.py:A",
        expression="A",
        helpers="A = 1\n",
    ),
    changed(
        "chain of star imports",
        "from helpers import *\n",
        "A = 1",
        "A = 2",
        "deep.py:A",
        expression="A",
        helpers="from deep import *\n",
        files={"deep.py": "A = 1\n"},
    ),
    changed(
        "what a star import exports",
        "from helpers import *\nfrom other import *\n",
        '["A", "B"]',
        '["B"]',
        "other.py:__all__",
        expression="A",
        helpers="A = 1\n",
        files={"other.py": '__all__ = ["A", "B"]\nA = 2\nB = 3\n'},
    ),
    changed(
        "import inside the function",
        "def f(x):\n    from helpers import A\n    return A\n",
        "A = 1",
        "A = 2",
        "helpers.py:A",
        expression="f(x)",
        helpers="A = 1\n",
    ),
    changed(
        "import of a module inside the function",
        "def f(x):\n    import helpers as h\n    return h.A\n",
        "A = 1",
        "A = 2",
        "helpers.py:A",
        expression="f(x)",
        helpers="A = 1\nB = 2\n",
    ),
    changed(
        "unused name of an imported module",
        "import helpers\n",
        "B = 1",
        "B = 2",
        None,
        expression="helpers.A",
        helpers="A = 1\nB = 1\n",
    ),
    changed(
        "submodule",
        "import pkg.sub\n",
        "A = 1",
        "A = 2",
        "pkg/sub.py:A",
        expression="pkg.sub.A",
        files={"pkg/__init__.py": "", "pkg/sub.py": "A = 1\n"},
    ),
    changed(
        "package that runs code",
        "import pkg.sub\n",
        "sub.A = 1",
        "sub.A = 2",
        "what pkg/__init__.py runs on import changed",
        expression="pkg.sub.A",
        files={"pkg/__init__.py": "from pkg import sub\nsub.A = 1\n", "pkg/sub.py": "A = 0\n"},
    ),
    changed(
        "relative import",
        "from pkg.sub import value\n",
        "A = 1",
        "A = 2",
        "pkg/deep.py:A",
        expression="value()",
        files={
            "pkg/__init__.py": "",
            "pkg/sub.py": "from .deep import A\ndef value(): return A\n",
            "pkg/deep.py": "A = 1\n",
        },
    ),
    changed(
        "namespace package",
        "import space.sub\n",
        "A = 1",
        "A = 2",
        "space/sub.py:A",
        expression="space.sub.A",
        files={"space/sub.py": "A = 1\n"},
    ),
    changed(
        "import that may fail",
        "try:\n    from helpers import A\nexcept ImportError:\n    A = 0\n",
        "A = 1",
        "A = 2",
        "helpers.py:A",
        expression="A",
        helpers="A = 1\n",
    ),
    Change(
        "module that appears",
        {
            "functions.py": functions(
                "try:\n    from helpers import A\nexcept ImportError:\n    A = 0\n", "A"
            )
        },
        {
            "functions.py": functions(
                "try:\n    from helpers import A\nexcept ImportError:\n    A = 0\n", "A"
            ),
            "helpers.py": "A = 1\n",
        },
        "helpers.py:A is new",
    ),
    changed(
        "re-export",
        "from helpers import A\n",
        "A = 1",
        "A = 2",
        "deep.py:A",
        expression="A",
        helpers="from deep import A\n",
        files={"deep.py": "A = 1\n"},
    ),
    changed(
        "name that a module computes if no statement has bound it",
        "import helpers\n",
        "return 1",
        "return 2",
        "its helper helpers.py:__getattr__ changed",
        expression="helpers.A",
        helpers="""
        try:
            from nowhere import A
        except ImportError:
            pass
        def __getattr__(name): return 1
        """,
    ),
    changed(
        "name that a module computes for a star import",
        "from helpers import *\n",
        "return 1",
        "return 2",
        "its helper helpers.py:__getattr__ changed",
        expression="A",
        helpers="""
        __all__ = ["A"]
        try:
            from nowhere import A
        except ImportError:
            pass
        def __getattr__(name): return 1
        """,
    ),
    changed(
        "another module patched on import",
        "import helpers\nhelpers.A = 1\n",
        "helpers.A = 1",
        "helpers.A = 2",
        ON_IMPORT,
        expression="helpers.value()",
        helpers="A = 0\ndef value(): return A\n",
    ),
    changed(
        "module that patches another one",
        "import helpers\nimport patches\n",
        "helpers.A = 1",
        "helpers.A = 2",
        "what patches.py runs on import changed",
        expression="helpers.A",
        helpers="A = 0\n",
        files={"patches.py": "import helpers\nhelpers.A = 1\n"},
    ),
    changed(
        "package and module of one name",
        "import helpers\n",
        "A = 1",
        "A = 2",
        "helpers/__init__.py:A",
        expression="helpers.A",
        helpers="A = 0\n",
        files={"helpers/__init__.py": "A = 1\n"},
    ),
    Change(
        "bytes of a compiled module",
        {
            "functions.py": functions(
                "try:\n    import fast\nexcept ImportError:\n    fast = None\n",
                "0 if fast is None else 1",
            ),
            "fast.so": b"one",
        },
        {
            "functions.py": functions(
                "try:\n    import fast\nexcept ImportError:\n    fast = None\n",
                "0 if fast is None else 1",
            ),
            "fast.so": b"two",
        },
        "fast.so, which counts as a whole, changed",
        judged=False,
    ),
    Change(
        "local package outside the project",
        {"functions.py": functions("import local_tools\n", "local_tools.A")},
        {"functions.py": functions("import local_tools\n", "local_tools.A")},
        "its helper local_tools.py:A changed",
        outside=({"local_tools.py": "A = 1\n"}, {"local_tools.py": "A = 2\n"}),
    ),
    Change(
        "what a local package outside the project imports",
        {"functions.py": functions("import local_tools\n", "local_tools.A")},
        {"functions.py": functions("import local_tools\n", "local_tools.A")},
        "its helper local_deep.py:A changed",
        outside=(
            {"local_tools/__init__.py": "from local_deep import A\n", "local_deep.py": "A = 1\n"},
            {"local_tools/__init__.py": "from local_deep import A\n", "local_deep.py": "A = 2\n"},
        ),
    ),
]
