import pickle

import pytest

from headrace.errors import NotFrozenError
from headrace.protocol.key import FileKey
from headrace.replay.seen import SeenSet
from tests.lake.key import files_of

A, B, A_WITH_VECTOR = FileKey("a"), FileKey("b"), FileKey("a", "u1")


def test_an_older_add_is_hidden_by_a_newer_add_and_by_a_newer_remove() -> None:
    seen = SeenSet()
    seen.admit("2", adds=files_of([A]), removes=files_of([B]))
    assert seen.admit("1", adds=files_of([A, B]), removes=[]) == [False, False]


def test_keys_of_one_source_do_not_hide_its_adds() -> None:
    seen = SeenSet()
    assert seen.admit("1", adds=files_of([A_WITH_VECTOR]), removes=files_of([A])) == [True]
    assert seen.admit("1", adds=files_of([B]), removes=[]) == [True]


def test_the_same_path_with_another_vector_is_another_file() -> None:
    seen = SeenSet()
    seen.admit("2", adds=files_of([A_WITH_VECTOR]), removes=[])
    assert seen.admit("1", adds=files_of([A]), removes=[]) == [True]


@pytest.mark.parametrize(("adds", "removes"), [([A, A], []), ([A], [A]), ([], [A, A])])
def test_a_key_twice_in_one_source_is_damage(adds: list[FileKey], removes: list[FileKey]) -> None:
    with pytest.raises(ValueError, match="twice"):
        SeenSet().admit("1", adds=files_of(adds), removes=files_of(removes))


def test_the_keys_of_a_damaged_source_can_be_removed() -> None:
    seen = SeenSet()
    seen.admit("2", adds=files_of([A]), removes=[])
    seen.admit("1", adds=files_of([B]), removes=[])
    again = seen.without("1")
    assert again.admit("0", adds=files_of([A, B]), removes=[]) == [False, True]


def test_only_a_frozen_set_pickles() -> None:
    seen = SeenSet([A])
    with pytest.raises(NotFrozenError):
        pickle.dumps(seen)
    frozen = pickle.loads(pickle.dumps(seen.freeze()))
    assert A in frozen
    assert len(frozen) == 1


def test_a_frozen_set_does_not_change_when_its_origin_does() -> None:
    seen = SeenSet([A])
    frozen = seen.freeze()
    seen.admit("1", adds=files_of([B]), removes=[])
    assert B not in frozen
