"""Converts a YAML value to the string that KUDO stores for a parameter.

Integers keep all their digits; the original wrote those from a million on with an exponent.
"""

from goyaml import SpelledFloat, format_float
from kudo.parameters.types import is_container

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
