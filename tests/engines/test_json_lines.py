"""A commit is read in pieces; where they are cut changes nothing."""

import json
from pathlib import Path

import pytest

from headrace.engines.arrow import json_lines
from headrace.errors import CorruptLogError
from headrace.protocol.log_file import LogFile
from headrace.storage.local import LocalStore
from tests.lake.action import add, opening

LINES = [*opening(), *(add(f"Zürich-{n}") for n in range(9))]
TEXT = "\n".join(json.dumps(line, ensure_ascii=False) for line in LINES).encode()
MARK = b"\xef\xbb\xbf"
SIZES = [1, 2, 3, 4, 50, 1000, len(TEXT) - 1, len(TEXT), 1 << 20]


def paths(folder: Path, content: bytes) -> list[str]:
    (folder / "commit").write_bytes(content)
    file = LogFile(path="commit", size_bytes=len(content), version=0)
    batches = json_lines.scan_json(LocalStore(str(folder)), file, columns=("add", "remove"))
    return [found.path for batch in batches for found in batch.actions("add")]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("content", [TEXT, TEXT + b"\n", MARK + TEXT, MARK, b"", b"\n\n" + TEXT])
def test_every_line_is_read_wherever_pieces_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, content: bytes
) -> None:
    monkeypatch.setattr(json_lines, "CHUNK_BYTES", size)
    expected = [f"Zürich-{n}" for n in range(9)] if TEXT in content else []
    assert paths(tmp_path, content) == expected


@pytest.mark.parametrize("size", SIZES)
def test_a_damaged_line_has_its_number_in_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(json_lines, "CHUNK_BYTES", size)
    with pytest.raises(CorruptLogError) as caught:
        paths(tmp_path, TEXT + b"\n\n{" + b"\n" + TEXT)
    assert caught.value.line == len(LINES) + 2


def test_of_a_summary_only_the_lines_that_are_wanted_are_kept(tmp_path: Path) -> None:
    named = {"sidecar": {"path": "x", "sizeInBytes": 1, "modificationTime": 1}}
    content = TEXT + b"\n" + json.dumps(named).encode()
    (tmp_path / "manifest.json").write_bytes(content)
    file = LogFile(path="manifest.json", size_bytes=len(content))
    store = LocalStore(str(tmp_path))
    batches = list(json_lines.scan_json(store, file, columns=("sidecar",)))
    assert [found.path for batch in batches for found in batch.actions("sidecar")] == ["x"]
    assert sum(map(len, batches)) == 1
