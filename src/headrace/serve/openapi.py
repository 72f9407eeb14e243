"""Describes the HTTP interface in OpenAPI 3.1, with the JSON schema of the wire format.

Nothing enters but `request.schema.json`; the document that `/openapi.json` returns leaves.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from headrace.serve.record_format import ARROW, NDJSON
from headrace.serve.request import FORM

SCHEMA_PATH = Path(__file__).with_name("request.schema.json")


@cache
def request_schema() -> dict[str, Any]:
    """Return the JSON schema of a request."""
    schema: dict[str, Any] = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    return schema


@cache
def describe_api() -> dict[str, Any]:
    """Return the OpenAPI description of all paths."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headrace",
            "version": str(FORM),
            "description": "Live files and rows of Delta tables, streamed as they are found.",
        },
        "security": [{"token": []}, {}],
        "paths": {
            "/healthz": _get_path("Whether the process is alive."),
            "/readyz": _get_path("Whether it accepts requests.", 503),
            "/metrics": _get_path("Metrics for Prometheus.", 401, media="text/plain"),
            "/v1": _get_path("The server, and the port of its Flight endpoint.", 401),
            "/v1/tables": _get_path("The names of the tables.", 401),
            "/v1/snapshot": _request_path("The version and schema of a table.", "application/json"),
            "/v1/files": _request_path("The live files of a table.", NDJSON, ARROW),
            "/v1/rows": _request_path("The rows of a table.", NDJSON, ARROW),
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Request": _inlined(request_schema()), **_definitions(), "Error": _ERROR},
        },
    }


_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "additionalProperties": False,
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "additionalProperties": False,
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}
_REFUSALS = {
    400: "The request is wrong.",
    401: "The token is missing or wrong.",
    404: "There is no such table, or no such version.",
    406: "Neither format is accepted.",
    410: "The version can no longer be read.",
    413: "The request is too large.",
    415: "The body is not plain JSON.",
    422: "The table does not support the request.",
    502: "The log or a data file is damaged, or the store failed.",
    503: "The server is busy, or shutting down.",
    504: "The answer took too long.",
}
_PARAMETERS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("table", {"type": "string", "minLength": 1, "maxLength": 4096}, "The name of a table."),
    ("where", {"type": "string"}, "A SQL condition, or a predicate in JSON."),
    ("limit", {"type": "integer", "minimum": 0, "maximum": (1 << 63) - 1}, "0 means all."),
    ("version", {"type": "integer", "minimum": 0, "maximum": (1 << 63) - 1}, "The version."),
    ("as_of", {"type": "string", "minLength": 1, "maxLength": 100}, "The time of the version."),
    ("strategy", {"enum": ["auto", "reverse", "forward"]}, "The order in which the log is read."),
    ("columns", {"type": "string"}, "The columns, separated by commas."),
)


def _get_path(summary: str, *refused: int, media: str = "application/json") -> dict[str, Any]:
    return {"get": {"summary": summary, "responses": _responses(refused, media)}}


def _request_path(summary: str, *media: str) -> dict[str, Any]:
    responses = _responses(tuple(_REFUSALS), *media)
    parameters = [
        {
            "name": name,
            "in": "query",
            "required": name == "table",
            "schema": schema,
            "description": text,
        }
        for name, schema, text in _PARAMETERS
    ]
    body = {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}}},
    }
    return {
        "get": {"summary": summary, "parameters": parameters, "responses": responses},
        "post": {"summary": summary, "requestBody": body, "responses": responses},
    }


def _responses(refused: tuple[int, ...], *media: str) -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "200": {"description": "The answer.", "content": {name: {} for name in media}},
        **{
            str(status): {"description": _REFUSALS[status], "content": error}
            for status in refused
            if status in _REFUSALS
        },
    }


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose references point to OpenAPI's components."""
    text = json.dumps({k: v for k, v in schema.items() if k not in {"$schema", "$defs"}})
    moved: dict[str, Any] = json.loads(text.replace("#/$defs/", "#/components/schemas/"))
    return moved


def _definitions() -> dict[str, Any]:
    return {name: _inlined(part) for name, part in request_schema()["$defs"].items()}
