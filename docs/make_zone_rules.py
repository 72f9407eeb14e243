#!/usr/bin/env python3
"""Write the time zone rules that the translation uses, as the installed Java has them."""

import gzip
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TARGET = FOLDER.parent / "src/headrace/pipeline/translation/zone_rules.json.gz"


def dump() -> bytes:
    """Return the rules as JSON, from a Java program that runs from source."""
    command = ["java", str(FOLDER / "ZoneRules.java")]
    return subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603


if __name__ == "__main__":
    TARGET.write_bytes(gzip.compress(dump(), mtime=0))
