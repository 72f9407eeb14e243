"""Pack file keys into bytes, the form in which the seen set stores them.

A packed key is the path in UTF-8, followed by a separator and the vector id if the file has a
deletion vector. The separators are bytes that never occur in UTF-8, so different keys always
pack to different bytes.
"""

from collections.abc import Iterable, Sequence

from headrace.protocol.action import Add, Remove
from headrace.protocol.key import FileKey, key_of

_VECTOR_FOLLOWS = b"\xff"
_KEY_FOLLOWS = b"\xfe"
# Percent-encoded bytes of a path need not be valid UTF-8. They are decoded to lone surrogates,
# which must not be merged into the characters that they would form together.
_ODD_TEXT = "surrogatepass"
_SURROGATE_BEGINS = b"\xed"


def pack(key: FileKey) -> bytes:
    """Pack one key."""
    path = key.path.encode("utf-8", _ODD_TEXT)
    if key.dv_id is None:
        return path
    return path + _VECTOR_FOLLOWS + key.dv_id.encode("utf-8", _ODD_TEXT)


def pack_all(keys: Iterable[FileKey]) -> list[bytes]:
    """Pack many keys, without a function call for each."""
    return [key.path.encode("utf-8", _ODD_TEXT) if key.dv_id is None else pack(key) for key in keys]


def pack_keys_of(files: Iterable[Add | Remove]) -> list[bytes]:
    """Pack the key of each file, without creating a key for plain paths without a vector."""
    files = list(files)
    try:
        return [
            path.encode()
            if "%" not in (path := file.path) and ":" not in path and file.deletion_vector is None
            else pack(key_of(file))
            for file in files
        ]
    except UnicodeEncodeError:
        return [pack(key_of(file)) for file in files]


def unpack(packed: bytes) -> FileKey:
    """Unpack one key."""
    path, has_vector, dv_id = packed.partition(_VECTOR_FOLLOWS)
    text = path.decode("utf-8", _ODD_TEXT)
    return FileKey(text, dv_id.decode("utf-8", _ODD_TEXT)) if has_vector else FileKey(text)


def paths_of(packed: Sequence[bytes]) -> Sequence[bytes]:
    """Return the paths of packed keys as the bytes that a column of paths has."""
    joined = b"".join(packed)  # one search for all keys: nearly always they are plain paths
    if _VECTOR_FOLLOWS not in joined and _SURROGATE_BEGINS not in joined:
        return packed
    return [_path_of(key) for key in packed]


def _path_of(packed: bytes) -> bytes:
    path = packed.partition(_VECTOR_FOLLOWS)[0]
    if _SURROGATE_BEGINS not in path:
        return path
    return path.decode("utf-8", _ODD_TEXT).encode("utf-8", "surrogateescape")


def join(packed: Iterable[bytes]) -> bytes:
    """Join one or more keys into one bytes object, which pickles faster than many small ones."""
    return _KEY_FOLLOWS.join(packed)


def split(joined: bytes) -> list[bytes]:
    """Split joined keys."""
    return joined.split(_KEY_FOLLOWS)
