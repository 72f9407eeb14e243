"""An S3 emulator whose conditional writes are atomic, as those of S3 are.

moto looks for an object and writes it in two steps. Two requests at the same time may both find
none, and both succeed. Here one of them waits for the other. Run as
`python tests/emulator/atomic_moto.py -H HOST -p PORT`.
"""

import sys
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any

from moto.s3.responses import S3Response
from moto.server import main

_WRITING = Lock()


def _one_at_a_time(write: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(write)
    def locked(*args: Any, **kwargs: Any) -> Any:
        with _WRITING:
            return write(*args, **kwargs)

    return locked


if __name__ == "__main__":
    S3Response.put_object = _one_at_a_time(S3Response.put_object)  # type: ignore[method-assign]
    main(sys.argv[1:])
