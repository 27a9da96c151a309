"""Cached properties without locks.

`functools.cached_property` takes a lock until Python 3.12; with a dozen of them for each
request, the locks cost as much as the rules.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_Value = TypeVar("_Value", covariant=True)


class computed(Generic[_Value]):  # noqa: N801 - used as a decorator
    """Like `functools.cached_property`, for objects that are used by one thread."""

    def __init__(self, compute: Callable[[Any], _Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...
    def __get__(self, instance: object, owner: type) -> Self | _Value:
        if instance is None:
            return self
        # The attribute of the instance hides this descriptor from now on.
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
