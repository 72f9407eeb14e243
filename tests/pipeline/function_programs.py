"""Random small projects that do unusual things on import, each in two versions."""

import re

from hypothesis import strategies as st

from tests.pipeline.function_changes.change import HEAD, TAIL

Program = dict[str, str]

PRELUDE = """\
from functools import partial
a = 1
b = 2
c = 3
T = {"k": 4}
L = [5]
class K:
    v = 6
    def m(self): return self.v
k = K()
def f(x): return x
def g(x, d=7): return x + d
def deco(h): return lambda x: h(x) + 1
"""
NAMES = ("a", "b", "c")
READS = (*NAMES, 'T["k"]', "L[-1]", "len(L)", "K.v", "k.v", "k.m()", "f(1)", "g(2)", "8", "9")
FORMS = (
    "{n} = {e}",
    "{n} += {e}",
    'T["k"] = {e}',
    "L.append({e})",
    "K.v = {e}",
    "k.v = {e}",
    "k = K()",
    't = T\nt["k"] = {e}',
    "T = dict(T, k={e})",
    "def f(x): return x + {n}",
    "def f(x):\n    {n} = {e}\n    return x + {n}",
    "def g(x, d={e}): return x + d",
    'def g(x, d=T): return d["k"]',
    "@deco\ndef f(x): return x * 2",
    "deco = lambda h: lambda x: h(x) * {i}",
    "def change():\n    global {n}\n    {n} = {e}\nchange()",
    "def change():\n    L.append({e})",
    "[change() for change in (lambda: L.append({i}),)]",
    "if {e} > {i}:\n    {n} = {e}\nelse:\n    {n} = {i}",
    "for {n} in range({i}):\n    L.append({n})",
    "while len(L) < {i}:\n    L.append({e})",
    "try:\n    {n} = nowhere\nexcept NameError:\n    {n} = {e}",
    "try:\n    del {n}\n    {n}\nexcept NameError:\n    {n} = {e}",
    "class K:\n    v = {e}\n    def m(self): return self.v + {n}",
    "class K(K):\n    def m(self): return {e}",
    "f = partial(g, {e})",
    "f = lambda x, y={e}: x + y + {n}",
    "{n} = (lambda y: y + {e})({i})",
    "{n} = [y + {e} for y in (1, 2)][0]",
    'globals()["{n}"] = {i}',
    '{n} = eval("{m}")',
    "({n} := {e})",
    "{n}, {m} = {m}, {n}",
    "nowhere = {e}",
)
IMPORTS = (
    "import helpers",
    "from helpers import *",
    "from helpers import {n}",
    "from helpers import {n} as {m}",
    "from helpers import f, T",
    "import helpers\nhelpers.{n} = {e}",
    'import helpers\nhelpers.T["k"] = {e}',
    "import helpers\nhelpers.L.append({e})",
    "import helpers\n{n} = helpers.{m}",
    'import helpers\n{n} = getattr(helpers, "{m}")',
    'import helpers\nsetattr(helpers, "{n}", {e})',
    "import helpers as h\ndef f(x): return x + h.{n}",
    "def f(x):\n    from helpers import {n}\n    return x + {n}",
    "from helpers import K as Base\nclass K(Base): pass\nk = K()",
    "try:\n    from helpers import {n}\nexcept ImportError:\n    {n} = {i}",
)


@st.composite
def statements(draw: st.DrawFn, forms: tuple[str, ...]) -> str:
    return draw(st.sampled_from(forms)).format(
        n=draw(st.sampled_from(NAMES)),
        m=draw(st.sampled_from(NAMES)),
        e=draw(st.sampled_from(READS)),
        i=draw(st.integers(1, 9)),
    )


@st.composite
def changed_programs(draw: st.DrawFn) -> tuple[Program, Program]:
    """Draw two versions of a project that differ in one place."""
    own = draw(st.lists(statements(FORMS + IMPORTS), min_size=1, max_size=5))
    helpers = draw(st.lists(statements(FORMS), min_size=1, max_size=3))
    reads = draw(st.lists(st.sampled_from(READS), min_size=1, max_size=len(READS), unique=True))
    value = " + ".join(f"{10**power} * {read}" for power, read in enumerate(reads))
    bodies = [PRELUDE.splitlines(keepends=True)[1:4] + own, helpers]
    changed_version = draw(st.integers(0, 1))
    changed = [[*body] for body in bodies]
    changed[changed_version] = draw(changes_of(bodies[changed_version]))
    before, after = (
        {
            "functions.py": HEAD + PRELUDE + "\n".join(own) + "\n" + TAIL.format(expression=value),
            "helpers.py": PRELUDE + "\n".join(helpers) + "\n",
        }
        for own, helpers in (bodies, changed)
    )
    return before, after


@st.composite
def changes_of(draw: st.DrawFn, body: list[str]) -> list[str]:
    """Draw a list of statements with one of them changed, moved, removed or added."""
    at = draw(st.integers(0, len(body) - 1))
    match draw(st.sampled_from(("move", "number", "remove", "add", "name"))):
        case "number":
            number = str(draw(st.integers(1, 9)))
            changed = re.sub(r"\d+", number, body[at], count=1)
            return [*body[:at], changed, *body[at + 1 :]]
        case "name":
            names = draw(st.permutations(NAMES))
            changed = re.sub(rf"\b{names[0]}\b", names[1], body[at], count=1)
            return [*body[:at], changed, *body[at + 1 :]]
        case "move":
            to = draw(st.integers(0, len(body) - 1))
            rest = [*body[:at], *body[at + 1 :]]
            return [*rest[:to], body[at], *rest[to:]]
        case "remove":
            return [*body[:at], *body[at + 1 :]]
        case _:
            return [*body[:at], draw(statements(FORMS + IMPORTS)), *body[at:]]
