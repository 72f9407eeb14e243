"""Functions that are not provably deterministic: their views always run, and explain why."""

import importlib
import os
import sys
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from headrace.errors import FunctionChangedError
from headrace.pipeline import Project, explain_change
from headrace.pipeline.functions.catalog import standard_catalog
from headrace.pipeline.functions.fingerprint import FunctionPart
from headrace.pipeline.project.folder import read_functions
from headrace.pipeline.runners.spark.arrow_function import arrow_kernel
from tests.pipeline.function_changes.change import functions
from tests.pipeline.shop import edit, write_shop

UNPROVEN = [
    ("import time\n", "int(time.time())", "the clock (time.time)"),
    ("from datetime import datetime\n", "datetime.now().year", "the clock (datetime.datetime.now)"),
    ("import random\n", "random.randint(1, 9)", "chance (random.randint)"),
    ("from uuid import uuid4 as new\n", "new().int", "chance (uuid.uuid4"),
    ("import numpy as np\n", "np.random.randint(9)", "chance (numpy.random.randint)"),
    ("", "hash(str(x))", "chance (hash)"),
    ("import os\n", "len(os.environ)", "the machine that it runs on (os.environ)"),
    ("import os\ndef f(n): return os.environ[n]\n", 'int(f("A"))', "(os.environ)"),
    ("import os\ng = getattr(os, 'getenv')\n", 'int(g("A"))', "(os)"),
    ("import os as system\n", "[system][0].getpid()", "any name of os, such as os.cpu_count"),
    ("import time\ndef f(m): return m.time()\n", "f(time)", "any name of time"),
    ("import os\n", "os.getpid()", "the machine that it runs on (os.getpid)"),
    ("import socket\n", "len(socket.gethostname())", "the network (socket.gethostname)"),
    ("import subprocess\n", "subprocess.call([])", "other processes (subprocess.call)"),
    ("", 'len(open("a" + str(x)).read())', "a file whose path is computed"),
    ("def f(p):\n    return p.read_text()\n", "f(x)", "a file whose path is computed"),
    ("import glob\n", 'len(glob.glob("*.csv"))', "a file whose path is computed"),
    ("def f(p):\n    import pandas as pd\n    return pd.read_csv(p)\n", "f(x)", "is computed"),
    ("A = lambda: open('https://example.org/a')\n", "A()", "the network"),
    ("import pkgutil", 'int(pkgutil.get_data("package", "n.txt"))', "a file"),
    ("from importlib import metadata", 'len(metadata.version("pyarrow"))', "installed"),
    ("import xml.etree.ElementTree as ET", 'len(ET.parse("a" * 2).getroot())', "computed"),
    ("import io\n", 'len(io.FileIO("a" * x).read())', "a file whose path is computed"),
    ("import filecmp\n", 'int(filecmp.cmp("a" * x, "b"))', "a file whose path is computed"),
    ("def f(p):\n    return getattr(p, 'read_text')()\n", "f(x)", "whose path is computed"),
    ("import configparser\nC = configparser.ConfigParser()\n", 'len(C.read("a" * x))', "computed"),
    ("import numpy as np\n", 'int(np.datetime64("now").astype(int))', "the clock"),
    ("import pandas as pd\n", 'pd.Timestamp("today").year', "the clock"),
    # The function that reads is reached as a value, or as a method of an unknown object.
    ("read = open\n", 'int(read("a" * x).read())', "a file whose path is computed"),
    ("import functools\nread = functools.partial(open, 'a' * 2)\n", "read()", "is computed"),
    ("", 'int(next(map(open, ["a" * x])).read())', "a file whose path is computed"),
    ("def f(p, read=open):\n    return read(p)\n", "f(x)", "a file whose path is computed"),
    ("import builtins\n", 'int(builtins.open("a" * x).read())', "a file whose path is computed"),
    ("from pathlib import Path\n", 'int(Path.read_text(Path("a" * x)))', "is computed"),
    ("from pathlib import Path\n", '[Path("a" * x).open][0]()', "is computed"),
    ("def f(p):\n    return [p.read_text][0]()\n", "f(x)", "whose path is computed"),
    ("import operator\n", 'operator.methodcaller("read_text")(x)', "whose path is computed"),
    ("import numpy as np\ndef f(r):\n    return r(2 * 'a')\n", "f(np.loadtxt)", "is computed"),
    (
        "import configparser\nC = configparser.ConfigParser()\nR = C.read\n",
        "R('a' * x)",
        "computed",
    ),
    ("import importlib.resources as r\n", "int(r.read_text('a' * x, 'b'))", "is computed"),
    ("import datetime\ndef f(d):\n    return d.now()\n", "f(datetime.datetime)", "the clock"),
    ("from datetime import date\nE = date(2024, 1, 1)\n", "E.today().year", "clock (E.today)"),
    ("from datetime import date\n", "getattr(date, 'today')().year", "the clock"),
    ("import os\n", "os.stat(__file__).st_mtime_ns", "the time of a file"),
    ("import os\n", "int(os.path.getmtime(__file__))", "the time of a file"),
    ("def f(context): return context.textFile('a').count()\n", "f(x)", "no source of the project"),
    ("from headrace import Table\n", "len(Table('a').snapshot())", "no source of the project"),
    # What Python's own modules read besides their arguments.
    ("import _io\n", "int(_io.open('a' * x).read())", "more than its arguments"),
    ("import posix\n", "len(posix.environ)", "more than its arguments"),
    ("import shutil\n", "len(shutil.which('ls') or '')", "more than its arguments"),
    ("import time\n", "time.timezone", "more than its arguments, as far as is known (time.timez"),
    ("import email.utils\n", "len(email.utils.make_msgid())", "more than its arguments"),
    ("import mimetypes\n", "len(mimetypes.guess_type('a.b')[0])", "more than its arguments"),
    ("import genericpath\n", "genericpath.getsize('a' * x)", "more than its arguments"),
    ("import zipfile\n", "int(zipfile.is_zipfile('a' * x))", "a file whose path is computed"),
    ("import glob\n", "len(glob.os.environ)", "the machine that it runs on (glob.os.environ)"),
    ("import logging\n", "logging.time.time()", "the clock (logging.time.time)"),
    ("", "len(__loader__.get_data('a' * x))", "a file (__loader__)"),
    ("import sys\n", "len(sys.modules['a'].__loader__.get_data(x))", "a file (__loader__)"),
    ("", "'a'.__hash__()", "chance (__hash__)"),
    ("import __main__\n", "__main__.a", "the machine that it runs on"),
    # Names and texts that are computed.
    ("import pandas as pd\n", "getattr(pd, 'read_' + 'csv')('a')", "any name of pandas"),
    ("import datetime as d\n", "getattr(d.datetime, 'no' + 'w')().year", "any name of datetime"),
    ("import operator as o\n", "o.methodcaller('no' + 'w')(x).year", "a method whose name is comp"),
    ("import pandas as pd\n", "pd.to_datetime(['now'])[0].year", "the clock ('now')"),
    ("import numpy as np\nN = 'now'\n", "int(np.datetime64(N).astype(int))", "the clock ('now')"),
    ("import pandas as pd\n", "pd.Series([1, 2]).sample(1).iloc[0]", "chance (sample)"),
    ("import pyarrow.compute as c\n", "c.call_function('random', [], length=1)", "chance"),
    ("import sqlite3 as s\n", "s.connect(':memory:').execute('select random()')", "chance"),
    (
        "from datetime import date\nclass E(date):\n    def f(self): return self.today()\n",
        "E(1, 1, 1).f().year",
        "the clock (self.today)",
    ),
    # Code that is found dynamically.
    ("", "eval('open(\"a\" * 2)').read()", "a file whose path is computed"),
    ("", "eval('1' * x)", "code that is computed (eval)"),
    ("import importlib\n", "importlib.import_module('a' * x).a()", "whose name is computed"),
    ("import builtins\n", "getattr(builtins, 'op' + 'en')('a')", "any name of builtins"),
    ("", "vars(__builtins__)['open']('a').read()", "any name of Python"),
    ("def g(): pass\n", "g.__globals__['__builtins__']['open']('a')", "any name of Python"),
    # Paths in names that have several values.
    ("P = 'a'\ndef f(p):\n    match p:\n        case P: return open(P)\n", "f(x)", "is computed"),
    (
        "P = 'a'\ndef f():\n    from helpers import P\n    return open(P)\n",
        "f()",
        "a file whose path is computed",
    ),
    (
        "P = 'a'\ndef f():\n    try: pass\n    except E as P: return open(P)\n",
        "f()",
        "a file whose path is computed",
    ),
    ("P = 'a'\nglobals()['P'] = 'b' * 2\n", "open(P).read()", "whose path may be assigned (P)"),
    (
        "import helpers\nhelpers.Q = 'b' * 2\nfrom helpers import Q\n",
        "open(Q).read()",
        "a file whose path may be assigned (Q)",
    ),
    (
        "from helpers import settings\nS = settings()\n",
        "S.read('a' * x)",
        "a file whose path is computed",
    ),
]
PROVEN = [
    ("def f(open, close):\n    return close - open\n", "f(x, x)"),
    ("def f(bar):\n    return bar.open\n", "f(x)"),
    ("import helpers\n", "helpers.now()"),
    ("class K:\n    def now(self): return 1\n    def f(self): return self.now()\n", "K().f()"),
    ("import zipfile\ndef f(archive: zipfile.ZipFile): return 1\n", "f(x)"),
    (
        "from pathlib import Path\nP = Path(__file__).with_name('helpers.py')\n",
        "len(P.read_text())",
    ),
    ("import json, re, decimal\n", "len(json.loads('[1]')) + len(re.findall('a', 'b'))"),
    ("import datetime\n", "datetime.datetime.strptime('2024', '%Y').year"),
    ("import logging, sys\nL = logging.getLogger('a')\n", "L.info('a') or print(file=sys.stderr)"),
    ("import io\n", "len(io.BytesIO(b'a').read(x))"),
    ("NAME = 'real'\ndef f(row): return getattr(row, NAME)\n", "f(x)"),
    ("import importlib\ndef f(n): return importlib.import_module(f'plugins.{n}')\n", "f('a').A"),
    ("import pandas as pd\n", "pd.Series([1, 2]).sample(1, random_state=1).iloc[0]"),
    ("import statistics, uuid, os.path\n", "len(os.path.join('a', str(uuid.uuid5(x, 'b'))))"),
    ("import sys\n", "sys.version_info.minor"),
]
HELPERS = """
import configparser
P = "".join("b")
Q = "a"
def now(): return 1
def settings(): return configparser.ConfigParser()
"""


@pytest.mark.parametrize(
    ("code", "expression", "says"), UNPROVEN, ids=lambda value: str(value)[:30]
)
def test_dependence_on_the_outside_world_is_not_proven_unchanged(
    code: str, expression: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "functions.py").write_text(functions(code, expression))
    (tmp_path / "helpers.py").write_text(HELPERS)
    why = read_functions(tmp_path).why_run("points")
    assert why is not None
    assert why.startswith("points cannot be proven unchanged: functions.py")
    assert says in why


@pytest.mark.parametrize(("code", "expression"), PROVEN, ids=lambda value: str(value)[:30])
def test_names_like_those_of_the_world_outside_are_proven(
    code: str, expression: str, tmp_path: Path
) -> None:
    (tmp_path / "functions.py").write_text(functions(code, expression))
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "__init__.py").write_text("")
    assert read_functions(tmp_path).why_run("points") is None


def test_code_that_is_found_dynamically_may_be_any_of_the_project(tmp_path: Path) -> None:
    code = "import importlib\ndef f(n): return importlib.import_module(f'plugins.{n}')\n"
    (tmp_path / "functions.py").write_text(functions(code, "f('a').a()"))
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "__init__.py").write_text("")
    plugin = tmp_path / "plugins" / "a.py"
    plugin.write_text("import time\ndef a(): return time.time_ns()\n")
    why = read_functions(tmp_path).why_run("points")
    assert why is not None
    assert "plugins/a.py:a depends on the clock" in why
    plugin.write_text("def a(): return int(open('n.txt').read())\n")
    (tmp_path / "n.txt").write_text("1")
    before = read_functions(tmp_path).part("points")
    assert before.unproven == ()
    (tmp_path / "n.txt").write_text("2")
    assert read_functions(tmp_path).part("points").fingerprint != before.fingerprint


OUTSIDE_READS = [
    ("import time\ndef a(): return time.time_ns()\n", "local_lib.py:a depends on the clock"),
    ("import os\ndef a(): return len(os.environ)\n", "local_lib.py:a depends on the machine"),
    ("def a(): return open('a' * 2)\n", "local_lib.py:a reads a file whose path is computed"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a project that has a neighbour."""
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.parametrize(("code", "says"), OUTSIDE_READS, ids=lambda value: str(value)[:30])
def test_what_a_package_without_a_version_depends_on_is_not_proven_unchanged(
    code: str, says: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_local_package(tmp_path / "outside", code, monkeypatch)
    (project / "functions.py").write_text(functions("import local_lib\n", "local_lib.a()"))
    assert says in (read_functions(project).why_run("points") or "")


def test_a_package_that_was_edited_after_its_import_is_not_proven(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_local_package(tmp_path / "outside", "A = 1\n", monkeypatch)
    (project / "functions.py").write_text(functions("import local_lib\n", "local_lib.A"))
    assert read_functions(project).why_run("points") is None
    assert read_functions(project).why_run("points") is None
    file.write_text("A = 2\n")
    catalog = read_functions(project)
    assert catalog["points"](pa.array([7])).to_pylist() == [1], "it is still the loaded code"
    why = "local_lib.py was changed after it was imported: start a new process"
    assert why in (catalog.why_run("points") or "")


def test_a_package_that_was_imported_before_and_edited_is_not_proven(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_local_package(tmp_path / "outside", "A = 1\n", monkeypatch)
    os.utime(file, (1_700_000_000, 1_700_000_000))
    importlib.import_module("local_lib")
    (project / "functions.py").write_text(functions("import local_lib\n", "local_lib.A"))
    assert read_functions(project).why_run("points") is None
    file.write_text("A = 2\n")
    assert "was changed after" in (read_functions(project).why_run("points") or "")


def write_local_package(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a module outside of any project, and make it importable."""
    folder.mkdir()
    (folder / "local_lib.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "local_lib", raising=False)
    return folder / "local_lib.py"


def test_on_spark_a_function_reads_the_variables_that_its_fingerprint_covers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os\n"
    expression = "int(os.environ['HEADRACE_TEST_A']) + len(os.environ.get('HEADRACE_TEST_B', ''))"
    (tmp_path / "functions.py").write_text(functions(code, expression))
    monkeypatch.setenv("HEADRACE_TEST_A", "3")
    monkeypatch.delenv("HEADRACE_TEST_B", raising=False)
    catalog = read_functions(tmp_path)
    assert catalog.part("points").variables == ("HEADRACE_TEST_A", "HEADRACE_TEST_B")
    compute = arrow_kernel(catalog["points"], {"HEADRACE_TEST_A": "3", "HEADRACE_TEST_B": None})
    monkeypatch.setenv("HEADRACE_TEST_A", "5")  # as another environment on a worker
    monkeypatch.setenv("HEADRACE_TEST_B", "abc")
    assert compute(pa.array([1])).to_pylist() == [3]


def test_the_author_may_promise_what_the_source_does_not_prove(tmp_path: Path) -> None:
    text = functions('def f(x):\n    return int(open("a" + ".txt" * x).read())\n', "f(1)")
    promised = text.replace('returns="BIGINT"', 'returns="BIGINT", volatility="immutable"')
    (tmp_path / "functions.py").write_text(promised)
    (tmp_path / "a.txt").write_text("1")
    catalog = read_functions(tmp_path)
    before = catalog.part("points")
    assert catalog.why_run("points") is None
    assert any(whole.startswith("every file of the project, since") for whole in before.widened)
    (tmp_path / "a.txt").write_text("2")
    assert read_functions(tmp_path).part("points").fingerprint != before.fingerprint


def test_the_standard_functions_are_followed_and_proven() -> None:
    catalog = standard_catalog()
    for entry in catalog:
        part = catalog.part(entry.function.name)
        assert (part.widened, part.unproven, part.inputs) == ((), (), {})
        assert catalog.why_run(entry.function.name) is None
        files = {label.partition(":")[0] for label in part.helpers}
        assert all(file.startswith("headrace/pipeline/functions/") for file in files)


@pytest.mark.parametrize(
    ("volatility", "says"),
    [
        ("volatile", "points is declared volatile"),
        ("stable", "points is declared stable: the same only within one run"),
    ],
)
def test_a_view_of_a_function_that_is_not_immutable_runs_every_time(
    volatility: str, says: str, tmp_path: Path
) -> None:
    root = write_shop(tmp_path / "shop")
    declared = f'@function("BIGINT", returns="BIGINT", volatility="{volatility}")'
    edit(root / "functions.py", '@function("BIGINT", returns="BIGINT")', declared)
    project = Project.load(root)
    assert project.catalog["points"].is_volatile == (volatility == "volatile")
    planned = project.plan()
    assert planned["revenue"].skip_key is None
    assert planned["top"].skip_key is None
    assert planned["forecast"].skip_key is not None
    causes = explain_change(planned["revenue"].key, planned["revenue"].key)
    assert [cause.text for cause in causes] == [says]


def test_why_names_what_is_unproven(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    edit(root / "functions.py", "FACTOR = 3", "import time\nFACTOR = int(time.time())")
    Project.load(root).run(engine="datafusion")
    decision = Project.load(root).why("revenue")
    assert [cause.text for cause in decision.causes] == [
        "points cannot be proven unchanged: functions.py on import depends on the clock (time.time)"
    ]


def test_a_builder_that_reads_the_clock_runs_every_time(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    (root / "views" / "late.py").write_text(
        "from datetime import date\n"
        "from headrace.pipeline import view\n"
        "@view(materialise='output')\n"
        "def late(spark):\n"
        "    return spark.table('orders').filter(f'year < {date.today().year}')\n"
    )
    view = Project.load(root).plan()["late"]
    assert view.skip_key is None
    assert "views/late.py:late depends on the clock (datetime.date.today)" in view.key.volatile[0]


def test_a_quick_edit_of_the_same_size_takes_effect(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(functions("from helpers import A\n", "A"))
    helpers = tmp_path / "helpers.py"
    results = []
    for number in (1, 2):
        helpers.write_text(f"A = {number}\n")
        os.utime(helpers, (1_700_000_000, 1_700_000_000))
        catalog = read_functions(tmp_path)
        results.append(
            (catalog["points"](pa.array([7])).to_pylist(), catalog.part("points").fingerprint)
        )
    assert [result for result, _ in results] == [[1], [2]]
    assert results[0][1] != results[1][1]


def test_a_fingerprint_is_that_of_the_loaded_source(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    before = Project.load(root).catalog.part("points")
    project = Project.load(root)
    edit(root / "functions.py", "FACTOR = 3", "FACTOR = 5")
    assert project.plan()["revenue"].key.functions["points"] == before
    with pytest.raises(FunctionChangedError):
        Project.load(root).catalog.verify("revenue", {"points": before})


def test_a_part_of_an_older_version_keeps_its_fingerprint() -> None:
    stored = b'{"signature":"f","source":"s","helpers":{"a.py:b":"c"},"packages":{"pyarrow":"26"}}'
    part = msgspec.json.decode(stored, type=FunctionPart)
    assert part.fingerprint == "e8f19e34b2176f2a2cc34adb44975116fc1e810a828fce5e0a0aa46e8a83898b"
    assert (part.inputs, part.widened, part.unproven) == ({}, (), ())
