"""Reads the settings that a new Spark session will start with, without starting it.

The environment enters; the settings of `spark-defaults.conf` and `PYSPARK_SUBMIT_ARGS` leave. A run
that skips every view never starts Spark, but these settings can change what its views would give.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

_DEFAULTS = "spark-defaults.conf"
_LINE = re.compile(r"(spark\.[^\s=:]+)\s*[\s=:]\s*(.*)")
_CONF = frozenset({"--conf", "-c"})


def launch_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a Spark of this environment starts with, as far as files say."""
    arguments = _arguments(environment.get("PYSPARK_SUBMIT_ARGS", ""))
    options = list(_options(arguments))
    files = [value for name, value in options if name == "--properties-file"]
    file = Path(files[-1]) if files else _defaults_file(environment)
    settings = {} if file is None else dict(_read(file))
    settings.update(
        (name.strip(), value)
        for option, text in options
        if option in _CONF
        for name, _, value in [text.partition("=")]
    )
    return settings


def _arguments(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # Spark itself will refuse it
        return []


def _options(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the options with their values, written as one word or as two."""
    for word, following in pairwise([*arguments, ""]):
        name, equals, value = word.partition("=")
        if name in _CONF or name == "--properties-file":
            yield name, value if equals else following


def _defaults_file(environment: Mapping[str, str]) -> Path | None:
    folder = environment.get("SPARK_CONF_DIR")
    if folder:
        return Path(folder) / _DEFAULTS
    home = environment.get("SPARK_HOME")
    if home:
        return Path(home) / "conf" / _DEFAULTS
    spec = find_spec("pyspark")
    return (
        None
        if spec is None or spec.origin is None
        else Path(spec.origin).parent / "conf" / _DEFAULTS
    )


def _read(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the settings of a file of properties."""
    with suppress(OSError, UnicodeDecodeError):
        for line in file.read_text(encoding="utf-8").splitlines():
            if match := _LINE.fullmatch(line.strip()):
                yield match[1], match[2].strip()
