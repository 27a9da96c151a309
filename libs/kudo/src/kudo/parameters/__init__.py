"""Parameter values: checking them, writing them as text, and what templates get to see.

Instances and OperatorVersions store every value as a string. The type of a parameter decides
which strings it accepts (`check`), what a template receives (`template`), and how a YAML value of
a package or a parameter file becomes a string (`text`, `sources`).
"""

from kudo.parameters.check import check_value, missing_required
from kudo.parameters.sources import (
    parse_assignments,
    parse_parameter_file,
    with_plain_booleans,
)
from kudo.parameters.template import (
    RawParameter,
    TooLarge,
    raw_values,
    read_values,
    template_values,
)
from kudo.parameters.text import to_text

__all__ = [
    "RawParameter",
    "TooLarge",
    "check_value",
    "missing_required",
    "parse_assignments",
    "parse_parameter_file",
    "raw_values",
    "read_values",
    "template_values",
    "to_text",
    "with_plain_booleans",
]
