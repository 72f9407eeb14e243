"""Keys as bytes: the form in which the seen set keeps them, in memory and on disk.

A packed key is the UTF-8 of its path; where there is a deletion vector, a separator and the id
follow. The separators are bytes that UTF-8 never has, so two keys never give the same bytes.
"""

from collections.abc import Iterable, Sequence

from headrace.protocol.action import Add, Remove
from headrace.protocol.key import FileKey, key_of

_VECTOR_FOLLOWS = b"\xff"
_KEY_FOLLOWS = b"\xfe"
# What a path had percent-encoded need not be UTF-8: such bytes stand in its text as lone
# surrogates, which must stay apart from the characters that they would make up together.
_ODD_TEXT = "surrogatepass"
_SURROGATE_BEGINS = b"\xed"


def pack(key: FileKey) -> bytes:
    """The bytes of one key."""
    path = key.path.encode("utf-8", _ODD_TEXT)
    if key.dv_id is None:
        return path
    return path + _VECTOR_FOLLOWS + key.dv_id.encode("utf-8", _ODD_TEXT)


def pack_all(keys: Iterable[FileKey]) -> list[bytes]:
    """The bytes of each key; a call a key would cost more than the packing."""
    return [key.path.encode("utf-8", _ODD_TEXT) if key.dv_id is None else pack(key) for key in keys]


def pack_keys_of(files: Iterable[Add | Remove]) -> list[bytes]:
    """The bytes of each file's key; nearly all have a plain path, no vector, and need no key."""
    every = list(files)
    try:
        return [
            path.encode()
            if "%" not in (path := file.path) and ":" not in path and file.deletion_vector is None
            else pack(key_of(file))
            for file in every
        ]
    except UnicodeEncodeError:
        return [pack(key_of(file)) for file in every]


def unpack(packed: bytes) -> FileKey:
    """The key that was packed."""
    path, has_vector, dv_id = packed.partition(_VECTOR_FOLLOWS)
    text = path.decode("utf-8", _ODD_TEXT)
    return FileKey(text, dv_id.decode("utf-8", _ODD_TEXT)) if has_vector else FileKey(text)


def paths_of(packed: Sequence[bytes]) -> Sequence[bytes]:
    """The paths of packed keys as they were before they became texts."""
    together = b"".join(packed)  # nearly always the keys are the paths, and this says so at once
    if _VECTOR_FOLLOWS not in together and _SURROGATE_BEGINS not in together:
        return packed
    return [_path_of(key) for key in packed]


def _path_of(packed: bytes) -> bytes:
    path = packed.partition(_VECTOR_FOLLOWS)[0]
    if _SURROGATE_BEGINS not in path:
        return path
    return path.decode("utf-8", _ODD_TEXT).encode("utf-8", "surrogateescape")


def join(packed: Iterable[bytes]) -> bytes:
    """Many keys, at least one, as one piece: that pickles quicker than as many small ones."""
    return _KEY_FOLLOWS.join(packed)


def split(joined: bytes) -> list[bytes]:
    """The keys that were joined."""
    return joined.split(_KEY_FOLLOWS)
