"""What `.Params` holds when a template is rendered."""

from collections.abc import Iterable, Mapping

from gotemplate.goyaml import YamlError, load
from kudo.api import Parameter
from kudo.problems import InvalidInput, Problem


def template_values(
    version_parameters: Iterable[Parameter], values: Mapping[str, str]
) -> dict[str, object]:
    """Return the value of each declared parameter as templates see it.

    A value that the Instance sets counts even when it is empty; then comes the default. Maps are
    whatever their YAML says, and None where it says nothing; arrays are lists, empty where it says
    nothing; all other types are strings. Values of undeclared parameters are left out.

    Raises:
        InvalidInput: the text of a map or an array is not YAML, or that of an array not a list;
            reason InvalidParams. All such parameters are named.
    """
    result: dict[str, object] = {}
    problems: list[Problem] = []
    for parameter in version_parameters:
        text = values.get(parameter.name, parameter.default)
        try:
            result[parameter.name] = _value(parameter.value_type, text)
        except ValueError as error:
            problems.append(_problem(parameter, error))
    if problems:
        raise InvalidInput(problems)
    return result


def _value(value_type: str | None, text: str | None) -> object:
    if value_type == "map":
        return load(text) if text else None
    if value_type != "array":
        return text or ""
    items = load(text) if text else None
    if items is None:
        return []
    if not isinstance(items, list):
        raise YamlError("a list is needed here")
    return items


def _problem(parameter: Parameter, error: ValueError) -> Problem:
    return Problem(
        "InvalidParams",
        f'parameter "{parameter.name}" of type {parameter.value_type} cannot be read: {error}',
        f"spec.parameters[{parameter.name}]",
    )
