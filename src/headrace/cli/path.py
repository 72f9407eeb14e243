"""Decodes the paths of a log for people. Tools get encoded paths or URIs."""

from urllib.parse import unquote

import msgspec


def shown_path(path: str) -> str:
    """Return a decoded path; as a JSON string if it contains characters that cannot be printed."""
    try:
        decoded = unquote(path, errors="strict")
    except UnicodeDecodeError:
        decoded = path
    return decoded if decoded.isprintable() else msgspec.json.encode(decoded).decode()
