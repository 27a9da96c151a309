"""Sprig's functions on JSON.

The names without `must` swallow errors: what cannot be written is "", what cannot be read is nil
or as much of it as could be read.
"""

from collections.abc import Callable
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.data.measure import measure
from gotemplate.golang.jsonreader import JsonError, read
from gotemplate.golang.jsonwriter import Writer
from gotemplate.limits import Rendering
from gotemplate.types.signature import ANY, STRING, Function

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


FUNCTIONS: Final = (
    Function("toJson", _write(_COMPACT), (ANY,), uses_rendering=True),
    Function("mustToJson", _must_write(_COMPACT), (ANY,), uses_rendering=True),
    Function("toPrettyJson", _write(_PRETTY), (ANY,), uses_rendering=True),
    Function("mustToPrettyJson", _must_write(_PRETTY), (ANY,), uses_rendering=True),
    Function("toRawJson", _must_write(_RAW), (ANY,), uses_rendering=True),
    Function("mustToRawJson", _must_write(_RAW), (ANY,), uses_rendering=True),
    Function("fromJson", from_json, (STRING,), uses_rendering=True),
    Function("mustFromJson", must_from_json, (STRING,), uses_rendering=True),
)
