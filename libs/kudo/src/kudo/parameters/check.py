"""Whether the values of an Instance fit the parameters that an OperatorVersion declares."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gotemplate.goyaml import YamlError, load, parse_float
from kudo.api import Parameter
from kudo.problems import Problem

_SHOWN: Final = 200
_INT64_DIGITS: Final = 19
_DECIMAL: Final = re.compile(r"[-+]?0*([0-9]+)")
_BOOLEANS: Final = frozenset(
    {"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"}
)


def check_value(parameter: Parameter, value: str) -> Problem | None:
    """Return what is wrong with `value` for `parameter`: its type, or that the enum lacks it.

    An empty value is right for every parameter; whether one is needed is for `missing_required` to
    say. Types are judged as Go does: integers are decimal and fit 64 bits, numbers are what
    `strconv.ParseFloat` reads, arrays and maps are YAML where null passes. Types that nobody knows
    accept anything.
    """
    if not value:
        return None
    fault = _TYPES.get(parameter.value_type or "", _anything)(value)
    if fault is None and parameter.enum is not None and value not in parameter.enum:
        allowed = " ".join(parameter.enum)
        fault = f"value is {_quoted(value)}, but only allowed values are [{_shortened(allowed)}]"
    if fault is None:
        return None
    return Problem(
        "ParameterInvalid",
        f'parameter "{parameter.name}" has an invalid value {_quoted(value)}: {fault}',
        _field(parameter),
    )


def missing_required(
    parameters: Iterable[Parameter], values: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Return a problem for each required parameter without a default whose value is empty."""
    return tuple(
        Problem(
            "ParameterRequired",
            f'parameter "{parameter.name}" is required but has no value set',
            _field(parameter),
        )
        for parameter in parameters
        if parameter.required and parameter.default is None and not values.get(parameter.name)
    )


def _field(parameter: Parameter) -> str:
    return f"spec.parameters[{parameter.name}]"


def _quoted(value: str) -> str:
    return json.dumps(_shortened(value), ensure_ascii=False)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _anything(_value: str) -> None:
    return None


def _integer(value: str) -> str | None:
    match = _DECIMAL.fullmatch(value)
    if match is None:
        return _scalar_fault("integer", value, "invalid syntax")
    limit = 2**63 if value[0] == "-" else 2**63 - 1
    if len(match[1]) > _INT64_DIGITS or int(match[1]) > limit:
        return _scalar_fault("integer", value, "value out of range")
    return None


def _number(value: str) -> str | None:
    if parse_float(value) is None:
        return _scalar_fault("number", value, "it is no number, or one that is out of range")
    return None


def _boolean(value: str) -> str | None:
    return None if value in _BOOLEANS else _scalar_fault("boolean", value, "invalid syntax")


def _scalar_fault(value_type: str, value: str, why: str) -> str:
    return f'type is "{value_type}" but format of {_quoted(value)} is invalid: {why}'


def _array(value: str) -> str | None:
    return _yaml_fault("array", value, list)


def _map(value: str) -> str | None:
    return _yaml_fault("map", value, dict)


def _yaml_fault(value_type: str, value: str, wanted: type) -> str | None:
    fault = f'type is "{value_type}", but format of {_shortened(value)} is invalid'
    try:
        content = load(value)
    except YamlError as error:
        return f"{fault}: {error}"
    return None if content is None or isinstance(content, wanted) else fault


_TYPES: Final[Mapping[str, Callable[[str], str | None]]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
    "map": _map,
}
