"""Changes to code that a module runs on import."""

from tests.pipeline.function_changes.change import ON_IMPORT, changed

ON_IMPORT_CHANGES = [
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
]
