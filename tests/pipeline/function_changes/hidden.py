"""Changes to code that runs, or files that are read, without a call or a path that is written."""

import io
import zipfile
from textwrap import dedent

from tests.pipeline.function_changes.change import ON_IMPORT, Change, changed, functions


def _archive(name: str, text: str) -> bytes:
    """Return an archive with one module; equal texts give equal bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), text)
    return content.getvalue()


_ELSEWHERE = dedent("""
    from pathlib import Path
    OUTSIDE = Path(__file__).parents[1] / "outside"
    A = int((OUTSIDE / "a" / "x.txt").read_text())
    B = int((OUTSIDE / "b" / "x.txt").read_text())
    """)
_FROM_ARCHIVE = dedent("""
    import sys
    from pathlib import Path
    sys.path.append(str(Path(__file__).parents[1] / "outside" / "lib.zip"))
    from zipped_tools import A
    """)

HIDDEN_CHANGES = [
    changed(
        "function that a sort calls on import",
        "SEEN = []\ndef note(n):\n    SEEN.append(n)\n    return n\nX = sorted([1], key=note)\n",
        "sorted([1]",
        "sorted([1, 2]",
        ON_IMPORT,
        expression="len(SEEN)",
    ),
    changed(
        "lambda that a maximum calls on import",
        "SEEN = []\nX = max([1, 2], key=lambda n: SEEN.append(n) or n)\n",
        "max([1, 2]",
        "max([1, 2, 3]",
        ON_IMPORT,
        expression="len(SEEN)",
    ),
    changed(
        "length as the key of a sort",
        'X = sorted(["a", "bb"], key=len)\n',
        '"bb"',
        '"bbb"',
        None,
    ),
    changed(
        "item of a class",
        """
        SEEN = []
        class K:
            def __class_getitem__(cls, item):
                SEEN.append(item)
        X = K[1]
        """,
        "K[1]",
        "K[2]",
        ON_IMPORT,
        expression="SEEN[0]",
    ),
    changed(
        "item of what a decorator returns",
        """
        SEEN = []
        class K:
            def __call__(self, f): return self
            def __getitem__(self, item): SEEN.append(item)
        @K()
        def k(): pass
        X = k[1]
        """,
        "k[1]",
        "k[2]",
        ON_IMPORT,
        expression="SEEN[0]",
    ),
    changed(
        "value that learns its name from its class",
        """
        SEEN = []
        class Field:
            def __set_name__(self, owner, name): SEEN.append(len(name))
        FIELD = Field()
        class K:
            x = FIELD
        """,
        "x = FIELD",
        "xx = FIELD",
        ON_IMPORT,
        expression="SEEN[0]",
    ),
    changed(
        "enumeration whose members run code",
        """
        from enum import Enum
        SEEN = []
        class Colour(Enum):
            RED = 1
            def __init__(self, value): SEEN.append(value)
        """,
        "RED = 1",
        "RED = 2",
        ON_IMPORT,
        expression="SEEN[0]",
    ),
    changed(
        "unrelated enumeration",
        "from enum import Enum\nclass Colour(Enum):\n    RED = 1\n",
        "RED = 1",
        "RED = 2",
        None,
    ),
    *(
        Change(
            f"{which} of two files elsewhere with one name",
            {"functions.py": functions(_ELSEWHERE, "10 * A + B")},
            {"functions.py": functions(_ELSEWHERE, "10 * A + B")},
            says,
            outside=({"a/x.txt": "1", "b/x.txt": "2"}, after),
        )
        for which, after, says in (
            ("first", {"a/x.txt": "3", "b/x.txt": "2"}, "file x.txt changed"),
            ("second", {"a/x.txt": "1", "b/x.txt": "3"}, "file x.txt (2) changed"),
        )
    ),
    Change(
        "module of an archive",
        {"functions.py": functions(_FROM_ARCHIVE, "A")},
        {"functions.py": functions(_FROM_ARCHIVE, "A")},
        "zipped_tools, which counts as a whole, changed",
        outside=(
            {"lib.zip": _archive("zipped_tools.py", "A = 1\n")},
            {"lib.zip": _archive("zipped_tools.py", "A = 2\n")},
        ),
    ),
    Change(
        "archive of the project",
        {
            "functions.py": functions(_FROM_ARCHIVE.replace('parents[1] / "outside"', "parent")),
            "lib.zip": _archive("zipped_tools.py", "A = 1\n"),
        },
        {
            "functions.py": functions(_FROM_ARCHIVE.replace('parents[1] / "outside"', "parent")),
            "lib.zip": _archive("zipped_tools.py", "A = 2\n"),
        },
        "lib.zip, which counts as a whole, changed",
        judged=False,
    ),
    *(
        Change(
            f"local time zone of {name}",
            {"functions.py": functions("import datetime, time\n", expression)},
            {"functions.py": functions("import datetime, time\n", expression)},
            says,
            environment=({"TZ": "UTC"}, {"TZ": "Asia/Tokyo"}),
            judged=False,  # a process that has read its zone does not notice another
        )
        for name, expression, says in (
            ("a number", "datetime.datetime.fromtimestamp(x).hour", "the local time zone changed"),
            ("a time", "int(datetime.datetime(2024, 1, x).timestamp())", "the local time zone"),
            ("a time with a zone", "datetime.datetime.fromtimestamp(x, datetime.UTC).hour", None),
        )
    ),
]
