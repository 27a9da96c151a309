"""Checks values of an Instance against the parameters that an OperatorVersion declares."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kudo.api.problems import SHOWN, Problem, listed, parameter_field, shown, shown_name
from kudo.parameters.types import is_container
from kudo.parameters.values import Check, read_fully

if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api import Parameter


def check_value(parameter: "Parameter", value: str, check: Check = read_fully) -> Problem | None:
    """Return what is wrong with `value` for `parameter`: its type, or that the enum lacks it.

    An empty value is valid for every parameter; `missing_required` checks whether one is needed.
    Types are checked as in Go: integers are decimal and fit 64 bits, numbers are what
    `strconv.ParseFloat` reads, arrays and maps are YAML where null passes. Unknown types
    accept anything.

    Args:
        parameter: Its definition.
        value: The value that an Instance sets.
        check: Checks the value. The default has no time limit.
    """
    if not value:
        return None
    value_type, name = parameter.value_type or "", shown_name(parameter.name)
    field, quoted = parameter_field(parameter.name), json.dumps(shown(value), ensure_ascii=False)
    fault = check(value_type, value)
    if fault is not None and fault.limit:
        # A reason of its own, since no fault is to be looked for in the text.
        text = f'parameter "{name}" of type "{value_type}" has a value that is too large'
        return Problem("ParameterTooLarge", f"{text}: {fault.detail}", field, fault.limit)
    if fault is not None and not is_container(value_type):
        text = f'type is "{value_type}" but format of {quoted} is invalid: {fault.detail}'
    elif fault is not None:
        # YAML of several lines would be hard to read in quotes.
        text = f'type is "{value_type}", but format of {shown(value)} is invalid'
        text = f"{text}: {fault.detail}" if fault.detail else text
    elif parameter.enum is not None and value not in parameter.enum:
        allowed = listed(parameter.enum, " ", most=SHOWN)
        text = f"value is {quoted}, but only allowed values are [{allowed}]"
    else:
        return None
    text = f'parameter "{name}" has an invalid value {quoted}: {text}'
    return Problem("ParameterInvalid", text, field)


def missing_required(
    parameters: Iterable["Parameter"], values: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Return a problem for each required parameter without a default whose value is empty."""
    return tuple(
        Problem(
            "ParameterRequired",
            f'parameter "{shown_name(parameter.name)}" is required but has no value set',
            parameter_field(parameter.name),
        )
        for parameter in parameters
        if parameter.required and parameter.default is None and not values.get(parameter.name)
    )
