"""Checks the YAML values of defaults and enums in `params.yaml` against the parameter's type.

A number without quotes is as good as the text of it, where no digit can get lost: an integer for
`integer`, `number` and `string`, a fraction for `number`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Final

from goyaml import DumpError
from kudo.api import Parameter
from kudo.packages import PackageParameter
from kudo.parameters import check_value, to_text
from kudo.parameters.text import go_text

_SHOWN: Final = 200
_INT64: Final = range(-(2**63), 2**63)


def type_fault(value: object, value_type: str) -> str | None:
    """Return why a value is none of that type, in the original's words; None if it is.

    Unknown types accept anything.
    """
    check = _CHECKS.get(value_type)
    return None if check is None else check(value)


def enum_fault(parameter: PackageParameter, value: object) -> str | None:
    """Return why a value is none of those that the parameter allows; None if it is."""
    if parameter.enum is None:
        return None
    text = stored(parameter, value)
    allowed = [stored(parameter, one) or "" for one in parameter.enum]
    if text is None or text in allowed:
        return None
    shown = _shortened(" ".join(allowed))
    return f'value is "{_shortened(text)}", but only allowed values are [{shown}]'


def stored(parameter: PackageParameter, value: object) -> str | None:
    """Return the text that installing stores for a value; None for no value."""
    try:
        return to_text(value, parameter.type)
    except DumpError:
        return None


def declared(parameter: PackageParameter) -> Parameter:
    """Return the parameter as installing declares it, without its default."""
    enum = parameter.enum
    return Parameter(
        name=parameter.name,
        value_type=parameter.type,
        enum=None if enum is None else tuple(stored(parameter, one) or "" for one in enum),
    )


def _string(value: object) -> str | None:
    if isinstance(value, str) or _integral(value):
        return None
    return f'type is "string" but format is invalid: {_shown(value)}'


def _integer(value: object) -> str | None:
    if isinstance(value, str):
        return _text_fault("integer", value)
    if _integral(value) and int(str(value).partition(".")[0]) in _INT64:
        return None
    return _format_fault("integer", value)


def _number(value: object) -> str | None:
    if isinstance(value, str):
        return _text_fault("number", value)
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return None if plain else _format_fault("number", value)


def _boolean(value: object) -> str | None:
    if isinstance(value, str):
        return _text_fault("boolean", value)
    return None if isinstance(value, bool) else _format_fault("boolean", value)


def _array(value: object) -> str | None:
    return _container("array", "an array", value, list)


def _map(value: object) -> str | None:
    return _container("map", "a map", value, dict)


def _container(value_type: str, expected: str, value: object, kind: type) -> str | None:
    if isinstance(value, str):
        return _text_fault(value_type, value) if value else None
    if value is None or isinstance(value, kind):
        return None
    return f'type is "{value_type}" but value {_shown(value)} is not {expected}'


def _integral(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer() and abs(value) < 2**53
    return isinstance(value, int) and not isinstance(value, bool)


def _text_fault(value_type: str, text: str) -> str | None:
    """Check a text as the value of an Instance is checked."""
    if not text:
        return f'type is "{value_type}" but format of "" is invalid: invalid syntax'
    problem = check_value(Parameter(value_type=value_type), text)
    if problem is None:
        return None
    # The quotes of the value in front of it are escaped, so this is where the reason begins.
    return problem.message[problem.message.index(f'type is "{value_type}"') :]


def _format_fault(value_type: str, value: object) -> str:
    return f'type is "{value_type}" but format of {_shown(value)} is invalid'


def _shown(value: object) -> str:
    return _shortened(json.dumps(value) if isinstance(value, str) else go_text(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


_CHECKS: Final[Mapping[str, Callable[[object], str | None]]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
    "map": _map,
}
