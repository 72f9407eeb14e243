"""One process of a race: it tries to create a series of objects, and reports which it won.

Run as `python -m tests.emulator.race`. It reads its settings as JSON from standard input, and
writes the numbers of the rounds it won as JSON to standard output.
"""

import json
import sys
from typing import Any

from headrace import wiring
from headrace.errors import ObjectExistsError
from headrace.storage.store import PutMode


def race(settings: dict[str, Any]) -> list[int]:
    store = wiring.open_writable_store(settings["uri"], options=settings["options"])
    won = []
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for number in range(settings["rounds"]):
        content = f"{settings['racer']}-{number}".encode()
        try:
            store.put(f"round/{number:05}", content, mode=PutMode.CREATE)
        except ObjectExistsError:
            continue
        won.append(number)
    return won


if __name__ == "__main__":
    print(json.dumps(race(json.loads(sys.stdin.readline()))))  # noqa: T201
