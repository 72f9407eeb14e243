"""Changes to what a function is made of: its body, decorators, classes, and functions it makes."""

from textwrap import dedent

from tests.pipeline.function_changes.change import BODY, HEAD, ON_IMPORT, Change, changed

DEFINITION_CHANGES = [
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
]
