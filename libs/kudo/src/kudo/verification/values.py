"""Checks the YAML values of defaults and enums in `params.yaml` against the parameter's type.

A number without quotes is as good as the text of it, where no digit can get lost: an integer for
`integer`, `number` and `string`, a fraction for `number`.
"""

import json
from typing import Final

from goyaml import DumpError
from kudo.api import Parameter
from kudo.packages.model import PackageParameter
from kudo.parameters.check import check_value
from kudo.parameters.sources import go_text, to_text
from kudo.parameters.types import TYPES, ValueType

_SHOWN: Final = 200


def type_fault(value: object, value_type: str) -> str | None:
    """Return why a value is none of that type, in the original's words; None if it is.

    Unknown types accept anything.
    """
    found = TYPES.get(value_type)
    if found is None or (value is None and found.container) or found.accepts(value):
        return None
    if isinstance(value, str):
        return _text_fault(found, value)
    if found.container is not None:
        if isinstance(value, found.container):
            return None
        expected = f"an {found.name}" if found.name[0] in "aeiou" else f"a {found.name}"
        return f'type is "{found.name}" but value {_shown(value)} is not {expected}'
    if found.fault is None:
        return f'type is "{found.name}" but format is invalid: {_shown(value)}'
    return f'type is "{found.name}" but format of {_shown(value)} is invalid'


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


def _text_fault(found: ValueType, text: str) -> str | None:
    """Check a text as the value of an Instance is checked."""
    if found.container is None and found.fault is None:
        return None
    if not text:
        fault = f'type is "{found.name}" but format of "" is invalid: invalid syntax'
        return None if found.container else fault
    problem = check_value(Parameter(value_type=found.name), text)
    if problem is None:
        return None
    # The quotes of the value in front of it are escaped, so this is where the reason begins.
    return problem.message[problem.message.index(f'type is "{found.name}"') :]


def _shown(value: object) -> str:
    return _shortened(json.dumps(value) if isinstance(value, str) else go_text(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
