"""A property that is computed on first access, without a lock.

Python 3.11's `functools.cached_property` holds one lock for all objects of a class. Reads of
different files would wait for each other, and a process that is forked meanwhile would wait
forever.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

V = TypeVar("V")


class computed(Generic[V]):  # noqa: N801  (a decorator, like `property`)
    """A method as a property whose first value is kept; two threads may both compute it."""

    def __init__(self, compute: Callable[[Any], V]) -> None:
        """Take the method."""
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any]) -> V: ...

    def __get__(self, instance: object | None, owner: type[Any]) -> Self | V:
        """Compute the value; later accesses find it in the object."""
        if instance is None:
            return self
        value: V = self._compute(instance)
        instance.__dict__[self._name] = value
        return value
