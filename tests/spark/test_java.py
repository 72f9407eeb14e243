import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.errors import JavaNotFoundError
from headrace.spark import java

SCRIPT = """
import headrace.spark
from headrace.errors import SessionError
for _ in range(2):
    spark = headrace.spark.local(cores=1, memory="512m")
    print("rows", spark.range(7).count(), spark._jvm.java.lang.System.getProperty("java.version"))
    spark.stop()
try:
    headrace.spark.attach(spark)
except SessionError as error:
    print(error.reason)
"""


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Simulate a machine that has the tools Spark needs, but no Java; return its cache folder."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "env", "head", "ps", "sh", "tr", "uname"):
        source = next((p for p in (Path("/bin", name), Path("/usr/bin", name)) if p.exists()), None)
        if source is not None:
            (tools / name).symlink_to(source)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fake_java(folder: Path, answer: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    return folder


def test_without_another_java_spark_runs_on_the_one_from_pip_and_restarts(
    no_java: Path,
) -> None:
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=False, capture_output=True, text=True
    )
    first, second, end = result.stdout.splitlines()
    assert first.startswith("rows 7 21."), result.stderr
    assert second == first
    assert end == "the session has been stopped"
    assert list(no_java.glob("headrace/java-*/bin/java"))


def test_an_existing_java_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_java: Path
) -> None:
    home = fake_java(tmp_path / "jdk", "echo 'openjdk version \"17.0.1\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java_home() is None
    assert not no_java.exists()


@pytest.mark.parametrize(
    "answer", ["echo 'java version \"1.8.0_301\"' >&2", "echo 'version \"11.0.2\"' >&2", "exit 1"]
)
def test_an_unsuitable_java_is_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_java: Path, answer: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", answer)))
    assert no_java in (java.find_java_home() or Path()).parents


def test_the_shim_drops_one_argument_and_keeps_all_others_as_they_are(
    no_java: Path, tmp_path: Path
) -> None:
    runtime = fake_java(tmp_path / "it's a runtime", 'printf "%s\\n" "$@"')
    home = java._java_home_with_shim(runtime)
    arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "", "*", "--add-modules=x"]
    out = subprocess.run(
        [home / "bin" / "java", *arguments], check=False, capture_output=True, text=True
    )
    assert out.stdout.split("\n")[:-1] == ["-Da=b c", "", "*", "--add-modules=x"]
    assert no_java in home.parents


def test_a_home_that_cannot_be_written_to_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, no_java: Path, tmp_path: Path
) -> None:
    no_java.write_text("a file where the cache should be")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = java.find_java_home()
    assert home is not None
    assert os.access(home / "bin" / "java", os.X_OK)


@pytest.mark.usefixtures("no_java")
def test_without_any_java_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda _: None)
    with pytest.raises(JavaNotFoundError, match=r"headrace\[spark-java\]"):
        java.find_java_home()
