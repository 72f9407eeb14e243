"""Lost acknowledgements and failing stores: a commit is never duplicated or lost."""

import pytest

from headrace.errors import (
    CommitUnknownError,
    ObjectExistsError,
    StorageError,
    StoreFailedError,
)
from tests.maintain import oracle
from tests.maintain.memory import MemoryStore
from tests.maintain.table import entry, table, writer

STATE = "/_manifest.avro"


def failing(path: str) -> StoreFailedError:
    return StoreFailedError(path=path, reason="the line broke")


def test_a_put_whose_response_is_lost_is_recognised_by_its_commit_id() -> None:
    store = table("a")
    mine = store.sharing()

    def lose(operation: str, path: str) -> None:
        if operation == "put" and path.endswith(STATE):
            raise failing(path)

    mine.after = lose
    result = writer(mine).commit([entry("b")])
    assert (result.version, result.attempts) == (2, 1)
    assert oracle.states(store.objects) == [1, 2]


def test_a_repeated_request_that_finds_its_own_object_is_a_success() -> None:
    store = table("a")
    mine = store.sharing()

    def repeat(operation: str, path: str) -> None:
        if operation == "put" and path.endswith(STATE):
            raise ObjectExistsError(path=path)

    mine.after = repeat
    assert writer(mine).commit([entry("b")]).version == 2
    assert oracle.states(store.objects) == [1, 2]


def test_a_request_that_never_arrived_is_put_again_under_the_same_id() -> None:
    store = table("a")
    mine, tries = store.sharing(), 0

    def refuse(operation: str, path: str) -> None:
        nonlocal tries
        if operation == "put" and path.endswith(STATE):
            tries += 1
            if tries == 1:
                raise failing(path)

    mine.before = refuse
    assert writer(mine).commit([entry("b")]).version == 2
    assert tries == 2


def test_an_unknown_outcome_deletes_nothing_and_raises() -> None:
    store = table("a")
    mine, is_put = store.sharing(), False

    def disturb(operation: str, path: str) -> None:
        nonlocal is_put
        if operation == "put" and path.endswith(STATE):
            is_put = True
            raise failing(path)

    def blind(operation: str, path: str) -> None:
        if is_put and operation == "read":
            raise failing(path)

    mine.after, mine.before = disturb, blind
    with pytest.raises(CommitUnknownError):
        writer(mine).commit([entry("b")])
    assert oracle.read(store.objects).files == {"a": 10, "b": 10}


def test_a_store_that_stays_down_is_an_error_and_creates_no_version() -> None:
    store = table("a")
    mine = store.sharing()

    def down(operation: str, path: str) -> None:
        if operation == "put" and path.endswith(STATE):
            raise failing(path)

    mine.before = down
    with pytest.raises(StoreFailedError):
        writer(mine).commit([entry("b")])
    assert oracle.states(store.objects) == [1]


@pytest.mark.parametrize("is_after", [False, True])
def test_a_fault_at_any_operation_leaves_the_old_or_the_new_version(*, is_after: bool) -> None:
    for at in range(1, 100):
        store = table("a", "b")
        mine, count = store.sharing(), 0

        def fail(_operation: str, path: str, *, limit: int = at) -> None:
            nonlocal count
            count += 1
            if count == limit:
                raise failing(path)

        if is_after:
            mine.after = fail
        else:
            mine.before = fail
        try:
            writer(mine).commit([entry("c"), entry("a", size=1)], ["b"])
        except StorageError:
            assert oracle.read(store.objects).version == 1
        else:
            assert oracle.read(store.objects).files == {"a": 1, "c": 10}
        if count < at:
            return
    pytest.fail("it never came to its end")


def test_a_failed_hint_does_not_fail_the_commit() -> None:
    store = MemoryStore(table("a").objects)

    def no_hint(operation: str, path: str) -> None:
        if operation == "put" and path.endswith("_last_checkpoint"):
            raise failing(path)

    store.before = no_hint
    assert writer(store).commit([entry("b")]).version == 2
    assert writer(store).commit([entry("c")]).version == 3
