"""The wire format: strict, versioned, and consistent with its JSON schema."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from headrace.errors import MalformedRequestError, RequestTooLargeError
from headrace.rows.option import RowOptions
from headrace.scan.options import ScanOptions
from headrace.serve.openapi import describe_api, request_schema
from headrace.serve.request import (
    MAX_REQUEST_BYTES,
    Kind,
    WireOptions,
    WireRequest,
    decode_request,
    make_request,
)

VALID = Draft202012Validator(request_schema())


def accepts(form: Any) -> bool:
    try:
        msgspec.json.decode(json.dumps(form), type=WireRequest).condition  # noqa: B018
    except (MalformedRequestError, msgspec.MsgspecError):
        return False
    return True


def test_the_schema_has_every_key_of_the_wire_format() -> None:
    properties = request_schema()["properties"]
    assert list(properties) == ["form", *list(WireRequest.__struct_fields__)[1:]] or set(
        properties
    ) == set(WireRequest.__struct_fields__)
    options = request_schema()["$defs"]["options"]["properties"]
    assert set(options) == set(WireOptions.__struct_fields__)


@pytest.mark.parametrize("kind", ["files", "rows"])
def test_a_client_may_set_every_option_to_its_default(kind: Kind) -> None:
    options: ScanOptions = ScanOptions() if kind == "files" else RowOptions()
    names = set(options.__struct_fields__) & set(WireOptions.__struct_fields__)
    form = {"table": "t", "kind": kind, "options": {name: getattr(options, name) for name in names}}
    assert VALID.is_valid(form)
    assert decode_request(json.dumps(form)).kind == kind


def test_the_schema_and_the_description_are_themselves_valid() -> None:
    Draft202012Validator.check_schema(request_schema())
    for schema in describe_api()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    "form",
    [
        {"table": "t"},
        {"table": "t", "form": 1, "kind": "rows", "limit": 0, "columns": []},
        {"table": "t", "where": {"date": "2026-02-08"}},
        {"table": "t", "where": {"$or": [{"a": {"$in": [1, None]}}, {}]}},
        {"table": "t", "where": None, "version": None, "strategy": "forward"},
        {"table": "t", "options": {"batch_rows": 10, "tripwire": "strict"}},
    ],
)
def test_the_schema_and_the_reader_accept_the_same_requests(form: Any) -> None:
    assert accepts(form)
    assert VALID.is_valid(form)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"table": ""},
        {"table": 1},
        {"table": "t", "limits": 1},
        {"table": "t", "form": 2},
        {"table": "t", "kind": "columns"},
        {"table": "t", "limit": -1},
        {"table": "t", "limit": 1 << 63},
        {"table": "t", "limit": "1"},
        {"table": "t", "where": 1},
        {"table": "t", "where": {"a": {"$lt": []}}},
        {"table": "t", "where": {"$nor": []}},
        {"table": "t", "options": {"retry_attempts": 100}},
        {"table": "t", "options": {"leaf_parallelism": 1000}},
        {"table": "t", "endpoints": 0},
        {"table": "t", "strategy": "sideways"},
    ],
)
def test_the_schema_and_the_reader_refuse_the_same_requests(form: Any) -> None:
    assert not accepts(form)
    assert not VALID.is_valid(form)


_keys = st.sampled_from([*WireRequest.__struct_fields__, "other"])
_parts = (
    st.none()
    | st.booleans()
    | st.integers(-1, 99)
    | st.sampled_from(
        [
            "t",
            "",
            "files",
            "rows",
            "auto",
            {},
            {"a": 1},
            {"a": {"$in": []}},
            {"$and": [{}]},
            [],
            ["c"],
        ]
    )
)


@pytest.mark.property
@given(st.dictionaries(_keys, _parts, max_size=5).map(lambda form: {"table": "t"} | form))
def test_the_schema_and_the_reader_agree_on_any_request(form: dict[str, Any]) -> None:
    assert accepts(form) == VALID.is_valid(form)


@pytest.mark.parametrize(
    "form",
    [
        '{"table": "t", "version": 1, "as_of": "now"}',
        '{"table": "t", "endpoints": 2, "limit": 5}',
        '{"table": "t", "endpoints": 2, "kind": "rows"}',
        '{"table": "t", "options": {"files_at_once": 2}}',
        "nonsense",
        '{"table": "\xff"}',
    ],
)
def test_parts_that_exclude_each_other_are_refused(form: str) -> None:
    with pytest.raises(MalformedRequestError):
        decode_request(form.encode("latin-1"))


@pytest.mark.parametrize(
    "form",
    [
        '{"table": "t", "table": "u"}',
        '{"table": "t", "limit": 1, "\\u006cimit": 2}',
        '{"table": "t", "options": {"batch_rows": 1, "batch_rows": 2}}',
        '{"table": "t", "where": {"$and": [{"a": 1, "a": 2}]}}',
    ],
)
def test_a_repeated_key_is_refused(form: str) -> None:
    with pytest.raises(MalformedRequestError, match="repeats"):
        decode_request(form)


def test_a_too_long_request_is_not_parsed() -> None:
    with pytest.raises(RequestTooLargeError):
        decode_request(b" " * (MAX_REQUEST_BYTES + 1))


def test_a_request_survives_the_wire() -> None:
    request = make_request(
        "lake/t", where="a = 'b\"c'", limit=5, version=3, overrides={"strategy": "forward"}
    )
    assert decode_request(request.encode()) == request
    assert request.condition == "a = 'b\"c'"
