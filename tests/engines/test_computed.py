"""Properties that are computed once, without a lock."""

import threading

from headrace.engines.computed import computed

barrier = threading.Barrier(2, timeout=5)


class Slow:
    """Counts computations; each one waits for that of another object."""

    count = 0

    @computed
    def value(self) -> int:
        """A number."""
        barrier.wait()
        self.count += 1
        return self.count


def test_two_objects_compute_at_the_same_time_and_keep_their_values() -> None:
    objects = [Slow(), Slow()]
    threads = [threading.Thread(target=lambda o=each: o.value) for each in objects]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.value for each in objects] == [1, 1]
    assert [each.count for each in objects] == [1, 1]


def test_the_class_has_the_property_itself() -> None:
    assert Slow.value.__doc__ == "A number."
