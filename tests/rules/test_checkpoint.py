"""Rules 7 and 9 to 12: what a checkpoint is, and how a reader handles a damaged one."""

import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import CorruptCheckpointError
from tests.lake.action import Line, add, domain, opening, remove, txn
from tests.lake.checkpoint import Columns, Form, Shape, Tombstones, write_checkpoint
from tests.lake.log import commit_path, log_of, state_at, write_history
from tests.listing import open_snapshot, paths_of

HISTORY: list[list[Line]] = [
    [*opening(), add("0"), txn("app", 7), domain("d", "{}")],
    [add("1"), add("2"), remove("0")],
    [add("3"), remove("1")],
]
FORMS = [
    *(Shape(form=form) for form in Form),
    *(Shape(form=form, sidecars=2) for form in (Form.V2_JSON, Form.V2_PARQUET)),
    Shape(form=Form.V2_CLASSIC_NAME, sidecars=1),
]
every_form = pytest.mark.parametrize(
    "shape", FORMS, ids=[f"{shape.form.value}, {shape.sidecars} sidecars" for shape in FORMS]
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_history(tmp_path, HISTORY)


def _checkpoint(table: Path, shape: Shape) -> list[Path]:
    return write_checkpoint(table, 1, state_at(HISTORY, 1), shape)


def _clean(table: Path) -> None:
    """Delete the commits below the checkpoint, so that everything depends on it."""
    for version in (0, 1):
        commit_path(table, version).unlink()


def _damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _append(source: Path, target: Path) -> None:
    """Append the rows of one manifest to another."""
    if target.suffix == ".json":
        target.write_text(target.read_text() + source.read_text())
    else:
        tables = [pq.read_table(path) for path in (target, source)]
        pq.write_table(pa.concat_tables(tables), target)


def test_rule_07_an_incomplete_multi_part_checkpoint_does_not_exist(table: Path) -> None:
    parts = _checkpoint(table, Shape(form=Form.MULTI_PART, parts=3))
    parts[1].unlink()
    parts[0].write_bytes(b"never read")
    assert paths_of(table) == ["2", "3"]


def test_rule_07_parts_of_two_multi_part_checkpoints_do_not_make_one(table: Path) -> None:
    _checkpoint(table, Shape(form=Form.MULTI_PART, parts=2))[0].unlink()
    _checkpoint(table, Shape(form=Form.MULTI_PART, parts=3))[1].unlink()
    assert paths_of(table) == ["2", "3"]


@pytest.mark.timeout(10)
def test_rule_07_a_huge_part_number_does_not_make_a_checkpoint(table: Path) -> None:
    part = log_of(table) / f"{1:020}.checkpoint.{1:010}.9999999999.parquet"
    part.write_bytes(b"never read")
    assert paths_of(table) == ["2", "3"]


def test_rule_07_a_zero_byte_checkpoint_is_skipped(table: Path) -> None:
    _checkpoint(table, Shape(form=Form.CLASSIC))[0].write_bytes(b"")
    assert paths_of(table) == ["2", "3"]


@every_form
def test_rule_07_an_undecodable_checkpoint_falls_back_to_the_commits(
    table: Path, shape: Shape
) -> None:
    for path in _checkpoint(table, shape):
        _damage(path)
    assert paths_of(table) == ["2", "3"]


def test_rule_07_the_fallback_is_reported_in_a_warning(
    table: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [path] = _checkpoint(table, Shape(form=Form.CLASSIC))
    _damage(path)
    with caplog.at_level(logging.WARNING, logger="headrace"):
        paths_of(table)
    assert any(path.name in record.getMessage() for record in caplog.records)


def test_rule_07_the_fallback_goes_to_an_older_checkpoint(table: Path) -> None:
    write_checkpoint(table, 0, state_at(HISTORY, 0))
    commit_path(table, 0).unlink()
    _damage(_checkpoint(table, Shape(form=Form.CLASSIC))[0])
    assert paths_of(table) == ["2", "3"]


@every_form
def test_rule_07_without_the_commits_the_damage_is_an_error(table: Path, shape: Shape) -> None:
    for path in _checkpoint(table, shape):
        _damage(path)
    _clean(table)
    with pytest.raises(CorruptCheckpointError):
        paths_of(table)


@every_form
def test_rule_09_every_form_of_checkpoint_is_read(table: Path, shape: Shape) -> None:
    _checkpoint(table, shape)
    _clean(table)
    assert paths_of(table, 1) == ["1", "2"]
    assert paths_of(table) == ["2", "3"]


@every_form
def test_rule_10_other_actions_come_from_the_manifest(table: Path, shape: Shape) -> None:
    _checkpoint(table, shape)
    _clean(table)
    snapshot = open_snapshot(table)
    assert snapshot.txns["app"].version == 7
    assert snapshot.domains["d"].configuration == "{}"


@pytest.mark.parametrize("form", [Form.V2_JSON, Form.V2_PARQUET, Form.V2_CLASSIC_NAME])
def test_rule_10_adds_next_to_sidecars_are_not_lost(
    table: Path, tmp_path: Path, form: Form
) -> None:
    manifest = _checkpoint(table, Shape(form=form, sidecars=1))[0]
    inline = state_at([[add("inline")]], 0)
    _append(write_checkpoint(tmp_path / "other", 1, inline, Shape(form=form))[0], manifest)
    _clean(table)
    assert paths_of(table) == ["2", "3", "inline"]


def test_rule_10_a_sidecar_that_is_named_twice_is_read_once(table: Path) -> None:
    manifest = _checkpoint(table, Shape(form=Form.V2_JSON, sidecars=1))[0]
    lines = manifest.read_text().splitlines()
    manifest.write_text("\n".join([*lines, *(line for line in lines if '"sidecar"' in line)]))
    _clean(table)
    assert paths_of(table) == ["2", "3"]


@pytest.mark.parametrize("where", [None, "part = 'x'", "id = 1", "part = 'x' AND id = 1"])
@pytest.mark.parametrize("form", [Form.V2_JSON, Form.V2_PARQUET, Form.MULTI_PART])
def test_rule_10_a_leaf_without_rows_holds_nothing(
    tmp_path: Path, form: Form, where: str | None
) -> None:
    history: list[list[Line]] = [opening(), []]
    write_history(tmp_path, history)
    shape = Shape(form=form, sidecars=2, parts=4)
    write_checkpoint(tmp_path, 0, state_at(history, 0), shape)
    assert list(open_snapshot(tmp_path).scan(where=where)) == []


def test_rule_11_the_path_of_a_sidecar_is_decoded(table: Path) -> None:
    manifest, sidecar = _checkpoint(table, Shape(form=Form.V2_JSON, sidecars=1))
    sidecar.rename(sidecar.with_name("a b%.parquet"))
    manifest.write_text(manifest.read_text().replace(sidecar.name, "a%20b%25.parquet"))
    _clean(table)
    assert paths_of(table) == ["2", "3"]


@pytest.mark.parametrize("form", [Form.V2_JSON, Form.V2_PARQUET, Form.V2_CLASSIC_NAME])
def test_rule_11_a_missing_sidecar_never_gives_a_partial_list(table: Path, form: Form) -> None:
    _checkpoint(table, Shape(form=form, sidecars=2))[1].unlink()
    _clean(table)
    with pytest.raises(CorruptCheckpointError):
        paths_of(table)


def test_rule_11_a_missing_sidecar_falls_back_to_the_commits(table: Path) -> None:
    _checkpoint(table, Shape(form=Form.V2_PARQUET, sidecars=2))[1].unlink()
    assert paths_of(table) == ["2", "3"]


def test_rule_07_an_undecodable_transaction_falls_back_to_the_commits(table: Path) -> None:
    [path] = _checkpoint(table, Shape(form=Form.CLASSIC))
    whole = pq.read_table(path)
    kind = whole.schema.field("txn").type
    damaged = [None if row is None else row | {"version": None} for row in whole["txn"].to_pylist()]
    place = whole.schema.get_field_index("txn")
    pq.write_table(whole.set_column(place, "txn", pa.array(damaged, kind)), path)
    assert open_snapshot(table).txns["app"].version == 7
    _clean(table)
    with pytest.raises(CorruptCheckpointError):
        _ = open_snapshot(table).txns


@every_form
def test_rule_12_columns_that_a_checkpoint_lacks_are_null(table: Path, shape: Shape) -> None:
    used = Shape(
        form=shape.form,
        sidecars=shape.sidecars,
        columns=Columns.USED,
        tombstones=Tombstones.EXPIRED,
    )
    for path in _checkpoint(table, used):
        if path.suffix == ".parquet":
            assert "remove" not in pq.read_schema(path).names
    _clean(table)
    [file] = [file for file in open_snapshot(table).scan() if file.path == "2"]
    assert (file.stats, file.tags, file.dv_id) == (None, None, None)


def test_rule_12_unknown_columns_of_a_checkpoint_are_ignored(table: Path) -> None:
    [manifest] = _checkpoint(table, Shape(form=Form.V2_JSON))
    with manifest.open("a") as file:
        file.write(json.dumps({"fromTheFuture": {"path": "x"}}) + "\n")
    _clean(table)
    assert paths_of(table) == ["2", "3"]


def test_rule_07_a_checkpoint_that_is_a_directory_is_not_one(table: Path) -> None:
    (log_of(table) / f"{1:020}.checkpoint.parquet").mkdir()
    assert paths_of(table) == ["2", "3"]
