"""Single changes to the parts of a function, each with the expected effect on its key.

This is one long table, by topic: the documentation page lists it in the same order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

HEAD = "import pyarrow as pa\nfrom headrace.pipeline import function\n"
TAIL = """

@function("BIGINT", returns="BIGINT")
def points(ids):
    return pa.array([{expression} for x in ids.to_pylist()], pa.int64())
"""

Files = Mapping[str, str | bytes]


@dataclass(frozen=True)
class Change:
    """A project before and after a change, and the expected effect on the function `points`."""

    name: str
    before: Files
    after: Files
    says: str | None
    """Part of the explanation of the change; None if the fingerprint must stay the same."""
    environment: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    outside: tuple[Files, Files] = ({}, {})
    """Files of a folder on the import path, outside the project."""
    judged: bool = field(default=True)
    """Whether the result must change if and only if the fingerprint must."""


def functions(code: str, expression: str = "x") -> str:
    return HEAD + dedent(code) + TAIL.format(expression=expression)


def changed(  # noqa: PLR0913  (a row of the table)
    name: str,
    code: str,
    old: str,
    new: str,
    says: str | None,
    *,
    expression: str = "x",
    helpers: str = "",
    files: Mapping[str, str] | None = None,
    judged: bool = True,
) -> Change:
    """Replace a text in all files of a project."""
    before = {"functions.py": functions(code, expression)}
    before |= {"helpers.py": dedent(helpers)} if helpers else {}
    before |= {path: dedent(text) for path, text in (files or {}).items()}
    assert any(old in text for text in before.values()), name
    after = {path: text.replace(old, new) for path, text in before.items()}
    return Change(name, before, after, says, judged=judged)


BODY = "its body changed"
ON_IMPORT = "what functions.py runs on import changed"

CHANGES = [
    # The function itself.
    changed("body", "", "[x for", "[x + 1 for", BODY),
    changed("comment", "# one\n", "# one", "# two", None),
    changed("layout", "A = 1\n", "A = 1\n", "A = 1\n\n\n\n", None),
    changed("unrelated constant", "A = 1\n", "A = 1", "A = 2", None),
    changed("unrelated function", "def f(x): return 1\n", "return 1", "return 2", None),
    changed(
        "another function of SQL",
        """
        @function("BIGINT", returns="BIGINT")
        def other(ids):
            return ids
        """,
        "return ids\n",
        "return pa.array([None] * len(ids), pa.int64())\n",
        None,
    ),
    changed(
        "docstring of a helper",
        'def f(x):\n    """One."""\n    return x\n',
        "One.",
        "Two.",
        None,
        expression="f(x)",
    ),
    changed("constant", "A = 1\n", "A = 1", "A = 2", "functions.py:A", expression="x + A"),
    changed(
        "default argument",
        "def f(x, by=2): return x * by\n",
        "by=2",
        "by=3",
        "functions.py:f",
        expression="f(x)",
    ),
    changed(
        "default argument in another name",
        "TABLE = {1: 1}\ndef f(x, by=TABLE): return by[1]\n",
        "1: 1",
        "1: 2",
        "functions.py:TABLE",
        expression="f(x)",
    ),
    changed(
        "local name like an unrelated constant",
        "n = 1\ndef f(x):\n    n = x\n    return n\n",
        "n = 1",
        "n = 2",
        None,
        expression="f(x)",
    ),
    # Decorators.
    changed(
        "decorator removed",
        """
        def twice(f):
            return lambda x: 2 * f(x)

        @twice
        def g(x): return x
        """,
        "@twice\n",
        "",
        "functions.py:g",
        expression="g(x)",
    ),
    changed(
        "decorator's body",
        """
        def twice(f):
            return lambda x: 2 * f(x)

        @twice
        def g(x): return x
        """,
        "2 * f(x)",
        "3 * f(x)",
        "functions.py:twice",
        expression="g(x)",
    ),
    Change(
        "decorator of the function itself",
        {
            "functions.py": HEAD
            + dedent("""
            from functools import wraps
            import pyarrow.compute as pc

            def shifted(f):
                @wraps(f)
                def inner(ids):
                    return pc.add(f(ids), 1)
                return inner

            @function("BIGINT", returns="BIGINT")
            @shifted
            def points(ids):
                return ids
            """)
        },
        {
            "functions.py": HEAD
            + dedent("""
            from functools import wraps
            import pyarrow.compute as pc

            def shifted(f):
                @wraps(f)
                def inner(ids):
                    return pc.add(f(ids), 1)
                return inner

            @function("BIGINT", returns="BIGINT")
            def points(ids):
                return ids
            """)
        },
        BODY,
    ),
    changed(
        "argument of a decorator",
        """
        def times(n):
            return lambda f: lambda x: n * f(x)

        @times(2)
        def g(x): return x
        """,
        "@times(2)",
        "@times(3)",
        "functions.py:g",
        expression="g(x)",
    ),
    changed(
        "decorator that registers",
        """
        RULES = []
        def rule(f):
            RULES.append(f)
            return f

        @rule
        def one(x): return x + 1
        """,
        "return x + 1",
        "return x + 2",
        ON_IMPORT,
        expression="RULES[0](x)",
    ),
    # Module code that runs on import.
    changed(
        "item assigned on import",
        'TABLE = {}\nTABLE["a"] = 1\n',
        '"a"] = 1',
        '"a"] = 2',
        ON_IMPORT,
        expression='TABLE["a"]',
    ),
    changed(
        "attribute assigned on import",
        "class K: x = 0\nK.x = 1\n",
        "K.x = 1",
        "K.x = 2",
        ON_IMPORT,
        expression="K.x",
    ),
    changed(
        "list appended to on import",
        "L = []\nL.append(1)\n",
        "append(1)",
        "append(2)",
        ON_IMPORT,
        expression="L[0]",
    ),
    changed(
        "mutation through an alias",
        "TABLE = {1: 1}\nt = TABLE\nt[1] = 2\n",
        "t[1] = 2",
        "t[1] = 3",
        ON_IMPORT,
        expression="TABLE[1]",
    ),
    changed(
        "condition on import",
        "A = 1\nif A > 0:\n    B = 1\nelse:\n    B = 2\n",
        "A > 0",
        "A > 1",
        "functions.py:B",
        expression="B",
    ),
    changed(
        "constant that a condition compares",
        "A = 1\nif A > 0:\n    B = 1\nelse:\n    B = 2\n",
        "A = 1",
        "A = 0",
        "functions.py:A",
        expression="B",
    ),
    changed(
        "loop on import",
        "S = 0\nfor i in range(3):\n    S += i\n",
        "range(3)",
        "range(4)",
        ON_IMPORT,
        expression="S",
    ),
    changed(
        "comprehension",
        "S = [i for i in (1, 2)]\n",
        "(1, 2)",
        "(3, 2)",
        ON_IMPORT,
        expression="S[0]",
    ),
    changed(
        "augmented assignment", "S = 1\nS += 1\n", "S += 1", "S += 2", ON_IMPORT, expression="S"
    ),
    changed(
        "name unbound",
        """
        A = 1
        del A
        try:
            B = A
        except NameError:
            B = 0
        """,
        "del A\n",
        "",
        "functions.py",
        expression="B",
    ),
    changed(
        "function that assigns a global name, called on import",
        "A = 1\ndef change():\n    global A\n    A = 2\nchange()\n",
        "A = 2",
        "A = 3",
        "functions.py:change",
        expression="A",
    ),
    changed(
        "function that assigns a global name, not called",
        "A = 1\ndef change():\n    global A\n    A = 2\n",
        "A = 2",
        "A = 3",
        "functions.py:change",
        expression="A",
        judged=False,
    ),
    changed(
        "function redefined under a condition",
        "def f(x): return 1\nif True:\n    def f(x): return 2\n",
        "if True",
        "if False",
        "functions.py:f",
        expression="f(x)",
    ),
    changed(
        "order of assignments",
        "A = 1\nB = [A]\nA = 2\n",
        "B = [A]\nA = 2\n",
        "A = 2\nB = [A]\n",
        "the order of statements in functions.py changed",
        expression="B[0]",
    ),
    changed(
        "order of functions",
        "def f(x): return x\ndef g(x): return f(x)\n",
        "def f(x): return x\ndef g(x): return f(x)\n",
        "def g(x): return f(x)\ndef f(x): return x\n",
        None,
        expression="g(x)",
    ),
    changed(
        "part that runs as a script",
        'if __name__ == "__main__":\n    print(1)\n',
        "print(1)",
        "print(2)",
        None,
    ),
    changed(
        "context manager on import",
        """
        from contextlib import contextmanager
        A = [1]
        @contextmanager
        def changing():
            A[0] = 2
            yield
        with changing():
            pass
        """,
        "A[0] = 2",
        "A[0] = 3",
        "functions.py:changing",
        expression="A[0]",
    ),
    changed("walrus", "L = [(n := 5)]\n", "n := 5", "n := 6", "functions.py", expression="n"),
    changed(
        "match on import",
        "A = 1\nmatch A:\n    case 1:\n        B = 1\n    case _:\n        B = 2\n",
        "case 1:",
        "case 2:",
        ON_IMPORT,
        expression="B",
    ),
    changed(
        "defaultdict that is read on import",
        """
        from collections import defaultdict
        D = defaultdict(int)
        E = D["a"]
        """,
        'D["a"]',
        'D["b"]',
        ON_IMPORT,
        expression='len([k for k in D if k == "a"])',
    ),
    changed(
        "defaultdict of another module that is read on import",
        """
        import helpers
        E = helpers.D["a"]
        """,
        'D["a"]',
        'D["b"]',
        ON_IMPORT,
        expression='len([k for k in helpers.D if k == "a"])',
        helpers="from collections import defaultdict\nD = defaultdict(int)\n",
    ),
    changed(
        "unrelated constant of another module",
        "import helpers\nB = helpers.B\n",
        "B = 1",
        "B = 2",
        None,
        expression="helpers.A",
        helpers="A = 1\nB = 1\n",
    ),
    # Classes.
    changed(
        "base class in another module",
        "from helpers import Base\nclass K(Base): pass\n",
        "return 1",
        "return 2",
        "helpers.py:Base",
        expression="K().value()",
        helpers="class Base:\n    def value(self): return 1\n",
    ),
    changed(
        "metaclass",
        """
        class Meta(type):
            def __new__(cls, name, bases, space):
                return super().__new__(cls, name, bases, {**space, "n": 1})
        class K(metaclass=Meta): pass
        """,
        '"n": 1',
        '"n": 2',
        "functions.py:Meta",
        expression="K.n",
    ),
    changed(
        "subclass that registers itself",
        """
        class Base:
            kinds = []
            def __init_subclass__(cls):
                Base.kinds.append(cls)
        class One(Base): n = 1
        """,
        "n = 1",
        "n = 2",
        ON_IMPORT,
        expression="Base.kinds[0].n",
    ),
    changed(
        "instance at module level",
        "class K:\n    def __init__(self, n): self.n = n\nINSTANCE = K(1)\n",
        "K(1)",
        "K(2)",
        ON_IMPORT,
        expression="INSTANCE.n",
    ),
    changed(
        "method of a class of an instance",
        "class K:\n    def value(self): return 1\nINSTANCE = K()\n",
        "return 1",
        "return 2",
        "functions.py:K",
        expression="INSTANCE.value()",
    ),
    changed(
        "descriptor",
        """
        class Field:
            def __set_name__(self, owner, name): owner.n = 1
        class K: x = Field()
        """,
        "owner.n = 1",
        "owner.n = 2",
        "functions.py:Field",
        expression="K.n",
    ),
    # Functions that make functions.
    changed(
        "closure",
        "def make(n):\n    def inner(x): return x + n\n    return inner\nadd = make(1)\n",
        "make(1)",
        "make(2)",
        ON_IMPORT,
        expression="add(x)",
    ),
    changed(
        "functools.partial",
        "from functools import partial\ndef f(n, x): return n * x\ng = partial(f, 2)\n",
        "partial(f, 2)",
        "partial(f, 3)",
        "functions.py:g",
        expression="g(x)",
    ),
    changed(
        "function of a partial",
        "from functools import partial\ndef f(n, x): return n * x\ng = partial(f, 2)\n",
        "return n * x",
        "return n + x",
        "functions.py:f",
        expression="g(x)",
    ),
    changed(
        "lambda",
        "f = lambda x: x\n",
        "lambda x: x",
        "lambda x: -x",
        "functions.py:f",
        expression="f(x)",
    ),
    Change(
        "function made of a lambda",
        {
            "functions.py": HEAD
            + "points = function('BIGINT', returns='BIGINT', name='points')(lambda ids: ids)\n"
        },
        {
            "functions.py": HEAD + "points = function('BIGINT', returns='BIGINT', name='points')"
            "(lambda ids: pa.array([1] * len(ids)))\n"
        },
        BODY,
    ),
    # Imports.
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
    # Code that cannot be followed.
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
    # Changes other than code.
    changed(
        "file next to the function",
        'from pathlib import Path\nA = int((Path(__file__).parent / "a.txt").read_text())\n',
        "1\n",
        "2\n",
        "file a.txt changed",
        expression="A",
        files={"a.txt": "1\n"},
    ),
    changed(
        "file opened with os.path",
        """
        import os
        def f(x):
            path = os.path.join(os.path.dirname(__file__), "data", "a.txt")
            with open(path) as opened:
                return int(opened.read())
        """,
        "1\n",
        "2\n",
        "file data/a.txt changed",
        expression="f(x)",
        files={"data/a.txt": "1\n"},
    ),
    changed(
        "file whose path another module has",
        "from helpers import PATH\ndef f(x):\n    return int(PATH.read_text())\n",
        "1\n",
        "2\n",
        "file a.txt changed",
        expression="f(x)",
        helpers='from pathlib import Path\nPATH = Path(__file__).with_name("a.txt")\n',
        files={"a.txt": "1\n"},
    ),
    changed(
        "files of a folder",
        """
        from pathlib import Path
        HERE = Path(__file__).parent
        def f(x):
            return sum(int(p.name[0]) for p in (HERE / "data").glob("*.txt"))
        """,
        "no such text",
        "",
        "file data changed",
        expression="f(x)",
        files={"data/1.txt": "no such text"},
        judged=False,
    ),
    Change(
        "environment variable",
        {"functions.py": functions("import os\n", 'int(os.environ["HEADRACE_TEST_A"])')},
        {"functions.py": functions("import os\n", 'int(os.environ["HEADRACE_TEST_A"])')},
        "environment variable HEADRACE_TEST_A changed",
        environment=({"HEADRACE_TEST_A": "1"}, {"HEADRACE_TEST_A": "2"}),
    ),
    Change(
        "unrelated environment variable",
        {"functions.py": functions("import os\n", 'int(os.getenv("HEADRACE_TEST_B", "1"))')},
        {"functions.py": functions("import os\n", 'int(os.getenv("HEADRACE_TEST_B", "1"))')},
        None,
        environment=({"HEADRACE_TEST_A": "1"}, {"HEADRACE_TEST_A": "2"}),
    ),
]

_KINDS = {
    "aggregate": ("aggregate", 'aggregate("BIGINT", returns="BIGINT")', "sum(f(x) for x in {0})"),
    "window": ("window", 'window("BIGINT", returns="BIGINT")', "max(f(x) for x in {0})"),
    "table function": (
        "table_function",
        'table_function("BIGINT", returns="n BIGINT")',
        "{{'n': [f(n) for n in range({1})]}}",
    ),
}
_BODY = """
    import pyarrow as pa
    from headrace.pipeline import {imported}

    A = 1
    UNUSED = 1


    def f(x, by=2):
        return x * by + A


    @{declaration}
    def points(ids):
        # one
        return {value}
    """


def _kind(name: str) -> str:
    imported, declaration, value = _KINDS[name]
    shown = value.format("ids.to_pylist()", "ids")
    return dedent(_BODY).format(imported=imported, declaration=declaration, value=shown)


def _changed_kind(name: str, change: str, old: str, new: str, says: str | None) -> Change:
    before = _kind(name)
    assert old in before
    after = before.replace(old, new)
    return Change(f"{name}: {change}", {"functions.py": before}, {"functions.py": after}, says)


CHANGES += [
    change
    for name, call in [("aggregate", "sum(f"), ("window", "max(f"), ("table function", "[f")]
    for change in (
        _changed_kind(name, "body", call, call.replace("f", "3 * f"), BODY),
        _changed_kind(name, "helper", "x * by", "x - by", "its helper functions.py:f changed"),
        _changed_kind(name, "default of a helper", "by=2", "by=3", "functions.py:f"),
        _changed_kind(name, "constant", "A = 1", "A = 2", "its helper functions.py:A changed"),
        _changed_kind(name, "unrelated constant", "UNUSED = 1", "UNUSED = 2", None),
        _changed_kind(name, "comment", "# one", "# two", None),
    )
]
CHANGES += [
    Change(
        "another kind",
        {"functions.py": _kind("aggregate")},
        {"functions.py": _kind("aggregate").replace("aggregate", "window")},
        "its signature was aggregate points(BIGINT) -> BIGINT immutable and is window points",
        judged=False,
    ),
]
