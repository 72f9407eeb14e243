"""Paths of the log for people: decoded. Tools get them as the log has them, or as addresses."""

from urllib.parse import unquote

import msgspec


def shown_path(path: str) -> str:
    """A path of the log as people write it; as JSON text where it cannot be shown otherwise."""
    try:
        decoded = unquote(path, errors="strict")
    except UnicodeDecodeError:
        decoded = path
    return decoded if decoded.isprintable() else msgspec.json.encode(decoded).decode()
