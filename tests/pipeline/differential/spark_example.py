"""The examples in Spark's own function descriptions."""

import re
from collections.abc import Sequence
from typing import Any

_STATEMENT = re.compile(r"^\s*> (.*?;)\s*$", re.MULTILINE | re.DOTALL)


def spark_examples(session: Any, functions: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return each example statement with its function, by default for all functions."""
    names = functions or [row[0] for row in session.sql("SHOW SYSTEM FUNCTIONS").collect()]
    examples: dict[str, str] = {}
    for name in names:
        described = session.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()
        text = "\n".join(row[0] for row in described)
        for match in _STATEMENT.finditer(text):
            statement = match[1].strip().rstrip(";").strip()
            examples.setdefault(statement, name)
    return [(name, statement) for statement, name in examples.items()]
