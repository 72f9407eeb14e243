"""Functions that are not provably deterministic: their views always run, and explain why."""

import os
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from headrace.errors import FunctionChangedError
from headrace.pipeline import Project, explain_change
from headrace.pipeline.functions.catalog import standard_catalog
from headrace.pipeline.functions.fingerprint import FunctionPart
from headrace.pipeline.project.folder import read_functions
from tests.pipeline.function_mutations import functions
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
]


@pytest.mark.parametrize(
    ("code", "expression", "says"), UNPROVEN, ids=lambda value: str(value)[:30]
)
def test_dependence_on_the_outside_world_is_not_proven_unchanged(
    code: str, expression: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "functions.py").write_text(functions(code, expression))
    why = read_functions(tmp_path).why_run("points")
    assert why is not None
    assert why.startswith("points cannot be proven unchanged: functions.py")
    assert says in why


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
