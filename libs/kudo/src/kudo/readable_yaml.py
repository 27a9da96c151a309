"""YAML for people: texts of several lines as blocks, no anchors, lines that do not wrap."""

from typing import Any, Final

import yaml

WIDTH: Final = 2**20


class ReadableDumper(yaml.SafeDumper):
    """A dumper of PyYAML for `yaml.dump(..., Dumper=ReadableDumper)`."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


ReadableDumper.add_representer(str, _text)


def dump(value: object, *, sort_keys: bool = False) -> str:
    """Return a value of JSON types as a document with a line end."""
    text: str = yaml.dump(
        value, Dumper=ReadableDumper, sort_keys=sort_keys, allow_unicode=True, width=WIDTH
    )
    return text
