"""Conditional creation of an object: one winner, with any number of racers and lost responses."""

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext

import pytest

from headrace.commit.body import CommitBody
from headrace.commit.staged import Committed, Staged
from headrace.errors import ObjectExistsError
from headrace.storage.store import PutMode
from headrace.wiring import open_writable_store
from tests.emulator.place import Place
from tests.emulator.relay import relayed
from tests.emulator.saboteur import Answer, failure, s3_options, sabotaged

RACERS = int(os.environ.get("HEADRACE_RACERS", "3"))
ROUNDS = int(os.environ.get("HEADRACE_RACE_ROUNDS", "25"))


@pytest.mark.timeout(1200)
def test_exactly_one_of_many_processes_creates_each_object(place: Place) -> None:
    command = [sys.executable, "-m", "tests.emulator.race"]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(RACERS)
    ]
    for racer, process in enumerate(racers):
        settings = {
            "uri": place.uri("race"),
            "options": place.options,
            "rounds": ROUNDS,
            "racer": racer,
        }
        assert process.stdin is not None
        process.stdin.write(json.dumps(settings) + "\n")
        process.stdin.flush()
    for process in racers:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in racers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    wins = Counter[int]()
    winner = {}
    for racer, process in enumerate(racers):
        out, _ = process.communicate(timeout=1000)
        for number in json.loads(out):
            wins[number] += 1
            winner[number] = racer
    assert wins == Counter(range(ROUNDS))
    store = place.store("race")
    assert {
        number: int(store.read(f"round/{number:05}").split(b"-")[0]) for number in range(ROUNDS)
    } == winner


def options_through(place: Place, endpoint: str) -> dict[str, str]:
    options = dict(place.options)
    name = "endpoint_url" if place.name == "s3" else "endpoint"
    options[name] = options[name].replace(place.endpoint, endpoint)
    return options


def test_a_create_whose_response_is_lost_succeeds_only_for_its_writer(remote: Place) -> None:
    with relayed(remote.endpoint, every=2) as relay:
        store = open_writable_store(
            remote.uri("lost"), options=options_through(remote, relay.endpoint)
        )
        for number in range(20):
            store.put(f"{number:02}", f"ours {number}".encode(), mode=PutMode.CREATE)
        assert relay.lost >= 10
        for number in range(20):
            with pytest.raises(ObjectExistsError):
                store.put(f"{number:02}", f"another's {number}".encode(), mode=PutMode.CREATE)
    direct = remote.store("lost")
    assert [direct.read(f.path).decode() for f in direct.list("")] == [
        f"ours {number}" for number in range(20)
    ]


def test_commits_whose_responses_are_lost_are_never_duplicated_or_lost(remote: Place) -> None:
    body = CommitBody(operation="WRITE")
    with relayed(remote.endpoint, every=3) as relay:
        store = open_writable_store(
            remote.uri("commits"), options=options_through(remote, relay.endpoint)
        )
        committed: list[str] = []
        for number in range(30):
            staged = Staged(store, paths=(), commit_id=f"commit-{number:04}", is_durable=True)
            version = len(committed)
            outcome = staged.commit(body, version=version)
            assert outcome == Committed(version=version, commit_id=staged.commit_id)
            committed.append(staged.commit_id)
        assert relay.lost >= 10
    direct = remote.store("commits")
    log = [direct.read(meta.path) for meta in direct.list("_delta_log")]
    assert [committed.index(_id_of(text)) for text in log] == list(range(30))


def _id_of(commit: bytes) -> str:
    start = commit.index(b"commit-")
    return commit[start : start + len("commit-0000")].decode()


@pytest.mark.parametrize("code", ["ConditionalRequestConflict", "OperationAborted"])
@pytest.mark.parametrize("has_won", [True, False])
def test_a_create_that_the_store_could_not_decide_is_tried_again(
    code: str, *, has_won: bool
) -> None:
    """The object may not exist at all: it must not be taken for that of another writer."""
    answers = iter(
        [failure(409, code), Answer() if has_won else failure(412, "PreconditionFailed")]
    )

    def answer(method: str, _path: str) -> Answer:
        return next(answers) if method == "PUT" else Answer(200, b"another writer's")

    with sabotaged(answer) as server:
        store = open_writable_store("s3://lake/t", options=s3_options(server.endpoint))
        expected = nullcontext() if has_won else pytest.raises(ObjectExistsError)
        with expected:
            store.put("x", b"ours", mode=PutMode.CREATE)
        assert [request[:3] for request in server.requests].count("PUT") == 2
