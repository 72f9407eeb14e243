"""Changes other than code: files that a function reads, and environment variables."""

from tests.pipeline.function_changes.change import Change, changed, functions

SURROUNDINGS_CHANGES = [
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
