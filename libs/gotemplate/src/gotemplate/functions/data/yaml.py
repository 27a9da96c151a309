"""`toYaml` and `fromYaml`, which Kubernetes operators expect beside Sprig's functions.

The YAML writer recurses, so a value is measured before it is written; the reader has limits of
its own.
"""

from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.data.measure import measure
from gotemplate.limits import Rendering
from gotemplate.types.signature import ANY, STRING, Function
from goyaml import YamlError, dump, load


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
    Function("toYaml", to_yaml, (ANY,), uses_rendering=True),
    Function("fromYaml", from_yaml, (STRING,), uses_rendering=True),
)
