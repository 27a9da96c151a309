"""YAML for people: texts of several lines as blocks, no anchors, lines that do not wrap.

Characters that a terminal or a reader would act on are escaped: PyYAML escapes most control
characters, but not line ends of Unicode and those that change the direction of text.
"""

import re
from typing import Any, Final

import yaml

from goyaml import is_plain_string

WIDTH: Final = 2**20
_ESCAPED: Final = re.compile(
    "[\x85\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]"
)


class ReadableDumper(yaml.SafeDumper):
    """A dumper of PyYAML for `yaml.dump(..., Dumper=ReadableDumper)`."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def analyze_scalar(self, scalar: str) -> Any:
        """Have PyYAML write double quotes, which alone have escapes."""
        analysis = super().analyze_scalar(scalar)
        if _ESCAPED.search(scalar):
            analysis.allow_flow_plain = analysis.allow_block_plain = False
            analysis.allow_single_quoted = analysis.allow_block = False
        return analysis


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    # PyYAML knows other numbers than go-yaml, and y is no boolean to it.
    if value and style is None and not is_plain_string(value):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


ReadableDumper.add_representer(str, _text)


def dump(value: object, *, sort_keys: bool = False) -> str:
    """Return a value of JSON types as a document with a line end."""
    text: str = yaml.dump(
        value, Dumper=ReadableDumper, sort_keys=sort_keys, allow_unicode=True, width=WIDTH
    )
    return escaped(text)


def escaped(text: str) -> str:
    """Return what `ReadableDumper` wrote, with escapes for the characters that it put in quotes."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04X}", text)
