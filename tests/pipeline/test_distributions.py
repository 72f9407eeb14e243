"""Installed packages: which distributions provide a module, and what identifies their code."""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from headrace.pipeline.functions.distribution import digest_record

ASK = dedent("""
    import sys, sysconfig
    folder, *modules = sys.argv[1:]
    paths = sysconfig.get_paths()
    sysconfig.get_paths = lambda *_: {**paths, "purelib": folder}
    sys.path.insert(0, folder)
    from headrace.pipeline.functions.resolution import find_outside
    for module in modules:
        print(find_outside(module))
    """)
LOCAL = ["localdir/__init__.py,sha256=1,2", "localfile.py,sha256=3,4"]


def install(folder: Path, name: str, files: list[str], origin: object = None) -> None:
    """Write a distribution as pip installs it, version 1.0."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    for line in files:
        file = folder / line.partition(",")[0]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (info / "RECORD").write_text("\n".join([*files, f"{info.name}/METADATA,,"]) + "\n")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))


def test_modules_are_identified_by_the_distributions_that_provide_them(tmp_path: Path) -> None:
    install(tmp_path, "spread-a", ["spread/a/__init__.py,,"])
    install(tmp_path, "spread-b", ["spread/b/__init__.py,,"])
    install(tmp_path, "spread", ["spread/c/__init__.py,,"])
    install(tmp_path, "published", ["published/__init__.py,,"])
    install(tmp_path, "localdir", LOCAL[:1], {"url": "file:///a", "dir_info": {}})
    install(tmp_path, "localfile", LOCAL[1:], {"url": "file:///a.whl", "archive_info": {}})
    modules = ["spread", "published", "localdir", "localfile"]
    process = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path), *modules],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout.splitlines() == [
        "Installed(package='spread, spread-a, spread-b', version='1.0, 1.0, 1.0')",
        "Installed(package='published', version='1.0')",
        f"Installed(package='localdir', version='1.0+{digest_record(LOCAL[:1])}')",
        f"Installed(package='localfile', version='1.0+{digest_record(LOCAL[1:])}')",
    ]


def test_the_place_of_an_installation_does_not_count() -> None:
    code, script = "a.py,sha256=1,2", "../../../bin/a,sha256={},3"
    origin = "a-1.dist-info/direct_url.json,sha256={},4"
    ours = [code, script.format(1), origin.format(1)]
    theirs = [script.format(2), origin.format(2), code]
    assert digest_record(ours) == digest_record(theirs)
    assert digest_record(ours) != digest_record(["a.py,sha256=5,2"])
