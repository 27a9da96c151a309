"""The values of `.Params` in templates."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from goyaml import Budget, YamlError, load
from kudo.api.problems import InvalidInput, Problem
from kudo.parameters.types import is_container, typed

if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api import Parameter


class RawParameter(NamedTuple):
    """A parameter whose value has not been read yet.

    Attributes:
        name: Its name.
        value_type: Its type; unknown types are texts.
        text: Its value as it is stored; None where it has none.
    """

    name: str
    value_type: str | None
    text: str | None


class TooLarge(InvalidInput):
    """The value of a parameter exceeds a limit.

    Attributes:
        limit: Name of the limit.
    """

    def __init__(self, problem: Problem, limit: str) -> None:
        super().__init__([problem])
        self.limit = limit


def raw_values(
    version_parameters: Iterable["Parameter"], values: Mapping[str, str]
) -> tuple[RawParameter, ...]:
    """Return the text of each declared parameter, without reading it.

    A value that the Instance sets counts even when it is empty; then comes the default. Values of
    undeclared parameters are left out.
    """
    return tuple(
        RawParameter(
            parameter.name, parameter.value_type, values.get(parameter.name, parameter.default)
        )
        for parameter in version_parameters
    )


def read_values(
    parameters: Iterable[RawParameter], budget: Budget | None = None
) -> dict[str, object]:
    """Return the value of each parameter as templates see it.

    Maps are whatever their YAML says, and None where it says nothing; arrays are lists, empty where
    it says nothing; all other types are strings.

    Args:
        parameters: The parameters.
        budget: What reading YAML may cost; by default the limits of `goyaml` hold for each text.

    Raises:
        TooLarge: the text of a map or an array exceeds a limit; no further one is read.
        InvalidInput: the text of a map or an array is not YAML, or that of an array not a list;
            reason InvalidParams. All such parameters are named.
    """
    result: dict[str, object] = {}
    problems: list[Problem] = []
    for parameter in parameters:
        try:
            value_type, text = parameter.value_type, parameter.text
            if not is_container(value_type):
                result[parameter.name] = text or ""
                continue
            value = load(text, budget=budget) if text else None
            if value_type == "array":
                # Go ranges over a list that is nil; what stands for it here is an empty one.
                value = [] if value is None else value
                if not isinstance(value, list):
                    raise YamlError("a list is needed here")
            result[parameter.name] = value
        except YamlError as error:
            name = parameter.name
            hint = "; give it a smaller value" if error.limit else ""
            message = f'parameter "{name}" of type {value_type} cannot be read: {error}{hint}'
            problem = Problem("InvalidParams", message, f"spec.parameters[{name}]")
            if error.limit:
                # The budget is of all values together, so reading more would fail as well.
                raise TooLarge(problem, error.limit) from error
            problems.append(problem)
    if problems:
        raise InvalidInput(problems)
    return result


def expression_values(
    parameters: Iterable[RawParameter], budget: Budget | None = None
) -> dict[str, object]:
    """Return the value of each parameter as expressions see it; raises as `read_values` does.

    They are those of templates, but integers and numbers are numbers, booleans true or false, and
    null stands for a parameter without a value.
    """
    raw = tuple(parameters)
    values = read_values(raw, budget)
    for parameter in raw:
        if parameter.text is None:
            values[parameter.name] = None
        elif not is_container(parameter.value_type):
            values[parameter.name] = typed(parameter.value_type, parameter.text)
    return values


def template_values(
    version_parameters: Iterable["Parameter"], values: Mapping[str, str]
) -> dict[str, object]:
    """Return the value of each declared parameter as templates see it.

    Raises:
        InvalidInput: as `read_values` does.
    """
    return read_values(raw_values(version_parameters, values))
