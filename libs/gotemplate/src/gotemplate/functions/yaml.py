"""`toYaml`, the one function that Kubernetes operators expect beside Sprig's.

The writer of YAML recurses, so a value is measured before it is given to it.
"""

from collections.abc import Mapping
from typing import Final

from gotemplate.errors import FunctionError, LimitError
from gotemplate.functions.signature import ANY, Function
from gotemplate.limits import Run


def to_yaml(run: Run, value: object) -> str:
    """Write a value as YAML in block style, with a newline at the end.

    Raises:
        LimitError: the value is deeper or larger than the limits allow.
        FunctionError: YAML cannot hold it.
    """
    from gotemplate.goyaml import dump

    _measure(run, value)
    try:
        return dump(value)
    except (TypeError, ValueError) as error:
        raise FunctionError(str(error)) from error


def _measure(run: Run, value: object) -> None:
    """Refuse what would be too deep or too long; a value that occurs twice counts twice."""
    limits = run.limits
    room = limits.string
    waiting = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        room -= 1
        run.check("value_depth", depth)
        if isinstance(item, str):
            room -= len(item)
        elif isinstance(item, Mapping):
            run.charge(len(item))
            room -= sum(len(key) for key in item if isinstance(key, str))
            waiting.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, (list, tuple)):
            run.charge(len(item))
            waiting.extend((inner, depth + 1) for inner in item)
        if room < len(waiting):
            raise LimitError("string", limits.string)
    run.charge((limits.string - room) >> 6)


FUNCTIONS: Final = (Function("toYaml", to_yaml, (ANY,), uses_run=True),)
