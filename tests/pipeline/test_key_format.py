"""Keys of an older format can still be read, keep their value, and never equal new ones."""

from pathlib import Path

import msgspec

from headrace.pipeline import CauseKind, Project, explain_change
from headrace.pipeline.bundle.skip_key import FORMAT, KeyParts
from headrace.pipeline.bundle.view_plan import BuilderFacts
from headrace.pipeline.project.header import Header
from tests.pipeline.shop import write_shop

STORED = b"""{
    "tokens": ["select", "a", "from", "t"], "functions": {}, "settings": {"ansi": "true"},
    "sources": {"t": {"digest": "d", "columns": {"a": "BIGINT"}, "version": 3, "where": null,
                      "carried_from": null}},
    "engine": "spark 4.3.0", "upstream": {}, "volatile": []
}"""
STORED_KEY = "0f3c3b19"
"""The start of the key that was stored with these parts."""


def test_a_stored_key_of_the_first_format_has_its_stored_value() -> None:
    parts = msgspec.json.decode(STORED, type=KeyParts)
    assert parts.format == 1
    assert (parts.skip_key() or "").startswith(STORED_KEY)


def test_a_key_of_an_older_format_differs_and_why_says_only_that(tmp_path: Path) -> None:
    root = write_shop(tmp_path / "shop")
    now = Project.load(root).plan()["revenue"].key
    assert now.format == FORMAT
    then = msgspec.structs.replace(now, format=1)
    assert then.skip_key() != now.skip_key()
    [cause] = explain_change(then, now)
    assert cause.kind is CauseKind.FORMAT
    assert "the key format changed from 1 to 3" in str(cause)


def test_other_stored_values_have_defaults_for_new_fields() -> None:
    assert msgspec.json.decode(b"{}", type=Header).append is None
    facts = msgspec.json.decode(
        b'{"over": {}, "columns": {}, "fingerprint": "f"}', type=BuilderFacts
    )
    assert facts.volatile == ()
