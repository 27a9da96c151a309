"""Parameter values from `-p name=value` flags, parameter files and packages, as the text of each.

Instances store texts (`to_text`). Integers keep all their digits; the original wrote those from a
million on with an exponent.

Parameter files are also what KudoOperator tasks render for their children.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from goyaml import Budget, DumpError, SpelledFloat, YamlError, format_float, load
from kubeio.names import is_subdomain
from kudo.api.problems import InvalidInput, Problem
from kudo.api.setting import Reference, Setting
from kudo.parameters.settings import SOURCE_WORDS
from kudo.parameters.template import TooLarge
from kudo.parameters.types import is_container

_LONGEST_BOOLEAN: Final = len("false")
_REASON = "ParameterInvalid"
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_NULL = (
    "has a null value (https://yaml.org/spec/1.2/spec.html#id2803362) "
    "which is currently not supported"
)


def parse_assignments(assignments: Iterable[str]) -> dict[str, Setting]:
    """Return the settings of `name=value` texts; of names given twice the last one counts.

    The value is everything after the first `=` and stays a string, whatever the parameter's type;
    `name=` sets the empty string. `name@secret=object/key` and `name@configMap=object/key` name
    where the value stands.

    Raises:
        InvalidInput: texts lack the `=` or the name, or name no object and key; one message names
            them all.
    """
    values: dict[str, Setting] = {}
    errors: list[str] = []
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not separator:
            errors.append(f"parameter not set: {assignment}")
        elif not name:
            errors.append(f"parameter name can not be empty: {assignment}")
        elif (word := name.rpartition("@")[2]) in SOURCE_WORDS and word != name:
            owner, obj, key = name.removesuffix(f"@{word}"), *_split(value)
            if not (owner and obj and key):
                kind = SOURCE_WORDS[word]
                # What was typed may be the secret itself.
                errors.append(f"{name} needs the name of a {kind} and a key: {name}=NAME/KEY")
                continue
            values[owner] = Reference(SOURCE_WORDS[word], obj, key)
        else:
            values[name] = value
    if errors:
        raise InvalidInput([Problem(_REASON, ", ".join(errors))])
    return values


def _split(reference: str) -> tuple[str, str]:
    """Return name and key of `name/key`; empty texts if no object can have them."""
    name, _, key = reference.partition("/")
    return (name, key) if is_subdomain(name) and _KEY.fullmatch(key) else ("", "")


def parse_parameter_file(
    name: str,
    text: str,
    budget: Budget | None = None,
    *,
    spelling: bool = False,
    single: bool = False,
) -> dict[str, str]:
    """Return the values in a parameter file, a YAML mapping by parameter name.

    Lists and mappings become YAML text, other values what Go prints for them. An empty file sets
    nothing.

    Args:
        name: Of the file, for messages.
        text: Its content.
        budget: What reading it may cost; by default the limits of `goyaml` hold.
        spelling: Whether decimal fractions keep their spelling (`0.10`, `1e3`). Not for children:
            the values that KUDO 0.19 gave them would change, and plans would run.
        single: Whether a second document is an error. Not for children, as KUDO 0.19 ignored it.

    Raises:
        TooLarge: the text exceeds a limit; `name` is in the message.
        InvalidInput: the text is not a YAML mapping, or values are null; `name` is in the message.
    """
    prefix = f"error unmarshalling content of parameter file {name}: "
    try:
        content = load(text, budget=budget, spelling=spelling, single=single)
    except YamlError as error:
        if error.limit:
            text = f"{prefix}{error}; make the file smaller"
            raise TooLarge(Problem(_REASON, text), error.limit) from error
        raise InvalidInput([Problem(_REASON, prefix + str(error))]) from error
    if content is not None and not isinstance(content, dict):
        raise InvalidInput([Problem(_REASON, prefix + "a mapping of names to values is needed")])
    values: dict[str, str] = {}
    errors: list[str] = []
    for key, value in (content or {}).items():
        # The file does not say which types its parameters have; only lists and mappings show it.
        shape = (
            "map" if isinstance(value, dict) else "array" if isinstance(value, list) else "string"
        )
        try:
            wrapped = to_text(value, shape)
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


def with_plain_booleans(
    booleans: Collection[str], values: Mapping[str, Setting]
) -> dict[str, Setting]:
    """Return the values, with those of parameters of type boolean as `true` and `false`.

    `-p` keeps texts as they are, and YAML reads `yes`, `On` and `True` as true: so that a value
    means the same wherever it is given, every word that is a boolean in YAML is stored like that.

    Args:
        booleans: Names of the parameters of that type.
        values: Values by name; a reference to one stays as it is.
    """
    plain = dict(values)
    for name, value in values.items():
        if not isinstance(value, str):
            continue
        # Only short words are read: anything else is no boolean, and might be no YAML either.
        if name in booleans and value.isalpha() and len(value) <= _LONGEST_BOOLEAN:
            word = load(value)
            plain[name] = str(word).lower() if isinstance(word, bool) else value
    return plain


# Integers of Go's int64 and uint64, which YAML numbers are read as.
_WHOLE_NUMBERS = range(-(2**63), 2**64)


def to_text(value: object, value_type: str | None) -> str | None:
    """Return `value` as the text that is stored for a parameter of type `value_type`.

    Arrays and maps become YAML; a value for them that is text already is taken to be YAML. Every
    other value becomes what Go prints for it; None, which there means "no value", stays None.

    Raises:
        goyaml.DumpError: an array or map nests too deeply or is too large.
    """
    if is_container(value_type) and not isinstance(value, str):
        from goyaml import dump  # few parameters are arrays or maps

        return dump(_plain_numbers(value))
    return None if value is None else go_text(value)


def go_text(value: object) -> str:
    """Return a YAML value as Go's `%v` prints it: `[a b]`, `map[k:v]`, `<nil>`."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return format_float(value)
        case list():
            return f"[{' '.join(map(go_text, value))}]"
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    return str(value)


def _plain_numbers(value: object) -> object:
    """Return `value` with whole floats as integers, as a round trip through JSON leaves them."""
    match value:
        case SpelledFloat():
            return value
        case float() if value.is_integer() and int(value) in _WHOLE_NUMBERS:
            return int(value)
        case list():
            return [_plain_numbers(item) for item in value]
        case dict():
            return {key: _plain_numbers(item) for key, item in value.items()}
    return value
