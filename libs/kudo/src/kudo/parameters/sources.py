"""Reads parameter values from `-p name=value` flags and parameter files.

Parameter files are also what KudoOperator tasks render for their children.
"""

from collections.abc import Iterable

from goyaml import Budget, DumpError, YamlError, load
from kudo.parameters.template import TooLarge
from kudo.parameters.text import to_text
from kudo.problems import InvalidInput, Problem

_REASON = "ParameterInvalid"
_NULL = (
    "has a null value (https://yaml.org/spec/1.2/spec.html#id2803362) "
    "which is currently not supported"
)


def parse_assignments(assignments: Iterable[str]) -> dict[str, str]:
    """Return the values of `name=value` texts; of names given twice the last one counts.

    The value is everything after the first `=` and stays a string, whatever the parameter's type.

    Raises:
        InvalidInput: texts lack the `=`, the name or the value; one message names them all.
    """
    values: dict[str, str] = {}
    errors: list[str] = []
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        fault = _fault(name, separator, value)
        if fault:
            errors.append(f"{fault}: {assignment}")
        else:
            values[name] = value
    if errors:
        raise InvalidInput([Problem(_REASON, ", ".join(errors))])
    return values


def parse_parameter_file(name: str, text: str, budget: Budget | None = None) -> dict[str, str]:
    """Return the values in a parameter file, a YAML mapping by parameter name.

    Lists and mappings become YAML text, other values what Go prints for them. An empty file sets
    nothing.

    Args:
        name: Of the file, for messages.
        text: Its content.
        budget: What reading it may cost; by default the limits of `goyaml` hold.

    Raises:
        TooLarge: the text exceeds a limit; `name` is in the message.
        InvalidInput: the text is not a YAML mapping, or values are null; `name` is in the message.
    """
    values: dict[str, str] = {}
    errors: list[str] = []
    for key, value in _mapping(name, text, budget).items():
        try:
            wrapped = to_text(value, _type_of(value))
        except DumpError as error:
            errors.append(f"{key}: {error}")
            continue
        if wrapped is None:
            errors.append(f"{key} {_NULL}")
        else:
            values[key] = wrapped
    if errors:
        prefix = f"errors while unmarshaling following keys of the parameter file {name}: "
        raise InvalidInput([Problem(_REASON, prefix + ", ".join(errors))])
    return values


def _fault(name: str, separator: str, value: str) -> str:
    if not separator:
        return "parameter not set"
    if not name:
        return "parameter name can not be empty"
    return "" if value else "parameter value can not be empty"


def _mapping(name: str, text: str, budget: Budget | None) -> dict[str, object]:
    prefix = f"error unmarshalling content of parameter file {name}: "
    try:
        content = load(text, budget=budget)
    except YamlError as error:
        if error.limit:
            text = f"{prefix}{error}; make the file smaller"
            raise TooLarge(Problem(_REASON, text), error.limit) from error
        raise InvalidInput([Problem(_REASON, prefix + str(error))]) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InvalidInput([Problem(_REASON, prefix + "a mapping of names to values is needed")])
    return content


def _type_of(value: object) -> str:
    if isinstance(value, dict):
        return "map"
    return "array" if isinstance(value, list) else "string"
