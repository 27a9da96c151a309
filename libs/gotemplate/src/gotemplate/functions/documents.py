"""Sprig's functions on JSON, and `toYaml` and `fromYaml`, which operators expect beside them.

The names without `must` swallow errors: what cannot be written is "", what cannot be read is nil
or as much of it as could be read. The writers recurse, so a value is measured before it is written.
"""

from collections.abc import Callable
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.lists import measure
from gotemplate.golang.gojson import JsonError, Writer, read
from gotemplate.rendering import Rendering
from gotemplate.types.signature import ANY, STRING, Function
from goyaml import YamlError, dump, load

_COMPACT: Final = Writer()
_PRETTY: Final = Writer(indent=True)
_RAW: Final = Writer(html=False)


def _must_write(writer: Writer) -> Callable[[Rendering, object], str]:
    def write(run: Rendering, value: object) -> str:
        measure(run, value)
        try:
            return writer.write(value)
        except ValueError as error:
            raise FunctionError(str(error)) from error

    return write


def _write(writer: Writer) -> Callable[[Rendering, object], str]:
    def write(run: Rendering, value: object) -> str:
        measure(run, value)
        try:
            return writer.write(value)
        except ValueError:
            return ""

    return write


def must_from_json(run: Rendering, text: str) -> object:
    """Read a JSON text; every number is a float.

    Raises:
        FunctionError: the text is not JSON.
    """
    run.charge(len(text) >> 2)
    try:
        return read(text, run.limits.value_depth)
    except JsonError as error:
        raise FunctionError(str(error)) from error


def from_json(run: Rendering, text: str) -> object:
    """Read a JSON text; nil if it is not JSON."""
    run.charge(len(text) >> 2)
    try:
        return read(text, run.limits.value_depth)
    except JsonError as error:
        return error.value


def to_yaml(run: Rendering, value: object) -> str:
    """Write a value as YAML in block style, with a newline at the end.

    Raises:
        LimitError: the value is deeper or larger than the limits allow.
        FunctionError: YAML cannot hold it.
    """
    measure(run, value)
    try:
        return dump(value)
    except (TypeError, ValueError) as error:
        raise FunctionError(str(error)) from error


def from_yaml(run: Rendering, text: str) -> object:
    """Read a YAML document; integers stay integers.

    Raises:
        FunctionError: the text is not YAML, or exceeds the reader's limits.
    """
    run.charge(len(text) >> 2)
    try:
        return load(text)
    except YamlError as error:
        raise FunctionError(str(error)) from error


FUNCTIONS: Final = (
    Function("toJson", _write(_COMPACT), (ANY,), uses_rendering=True),
    Function("mustToJson", _must_write(_COMPACT), (ANY,), uses_rendering=True),
    Function("toPrettyJson", _write(_PRETTY), (ANY,), uses_rendering=True),
    Function("mustToPrettyJson", _must_write(_PRETTY), (ANY,), uses_rendering=True),
    Function("toRawJson", _must_write(_RAW), (ANY,), uses_rendering=True),
    Function("mustToRawJson", _must_write(_RAW), (ANY,), uses_rendering=True),
    Function("fromJson", from_json, (STRING,), uses_rendering=True),
    Function("mustFromJson", must_from_json, (STRING,), uses_rendering=True),
    Function("toYaml", to_yaml, (ANY,), uses_rendering=True),
    Function("fromYaml", from_yaml, (STRING,), uses_rendering=True),
)
