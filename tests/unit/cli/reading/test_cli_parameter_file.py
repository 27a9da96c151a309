"""The parameters of an Instance as a file to edit."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubectl_kudo.reading.parameter_file import (
    differences,
    parameter_file,
    read_values,
    with_fault,
    without_fault,
)
from kudo.parameters.types import TYPES

JsonObject = dict[str, Any]


def file(stored: JsonObject, *parameters: JsonObject) -> str:
    metadata = {"name": "web", "namespace": "ns"}
    instance = {"metadata": metadata, "spec": {"parameters": stored}}
    version = {"metadata": {"name": "web-0.1.0"}, "spec": {"parameters": list(parameters)}}
    return parameter_file(instance, version)


def test_the_file_says_what_each_parameter_is() -> None:
    text = file(
        {"replicas": "3", "labels": "a: x\nb: [1, 2]\n", "gone": "yes"},
        {
            "name": "replicas",
            "displayName": "Replicas",
            "description": "How many servers run.\nMore cost more.",
            "value-type": "integer",
            "default": "2",
            "trigger": "scale",
        },
        {"name": "size", "enum": ["small", "large"], "default": "small", "immutable": True},
        {"name": "labels", "value-type": "map"},
        {"name": "host", "required": True},
    )
    assert (
        text
        == """\
# The parameters of instance ns/web, which has version web-0.1.0.
# Remove the # before a parameter to set it; put one there to go back to the default.
# Save no change, or an empty file, to leave everything as it is.

# Replicas
# How many servers run.
# More cost more.
# type integer; default 2; runs plan scale
replicas: 3

# type string; one of small, large; cannot be changed once it is set
#size: small

# type map
labels:
  a: x
  b:
  - 1
  - 2

# type string; required
#host:

# The OperatorVersion does not declare what follows, and nothing uses it.
gone: 'yes'
"""
    )


def test_the_file_says_what_a_value_may_be() -> None:
    inner = {str(n): {"type": "string", "pattern": "^a\n#! b$"} for n in range(100)}
    text = file(
        {},
        {"name": "port", "value-type": "integer", "minimum": 1, "maximum": 9, "default": "2"},
        {"name": "zone", "enum": [f"zone-{n}" for n in range(1000)], "pattern": "^a\nb: c$"},
        {"name": "hosts", "value-type": "map", "properties": inner},
    )
    _, port, zone, hosts = text.split("\n\n")
    assert port == "# type integer; 1 to 9\n#port: 2"
    assert "one of zone-0, zone-1," in zone
    assert "zone-19 and 980 more; matches ^a b: c$\n" in zone.replace("\n# ", " ")
    assert len(hosts) < 1200
    assert all(line.startswith("#") for line in text.splitlines() if line)


VALUES = st.one_of(
    st.text(),
    st.from_regex(r"[-+.0-9eExX_]{1,6}", fullmatch=True),
    st.sampled_from(
        ("y", "n", "off", "~", "null", "1_0", "0o7", "a\nb\n", "\u2028EVIL: 1", "[1", "")
    ),
)


@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=3), st.sampled_from(sorted(TYPES)))
def test_each_value_is_read_back_or_left_out(stored: dict[str, str], kind: str) -> None:
    declared = [{"name": name, "value-type": kind} for name in stored]
    values = read_values(file(stored, *declared), "file")
    assert values.keys() <= stored.keys()
    for name, value in values.items():
        same = value == stored[name]
        assert same or yaml.safe_load(value) == yaml.safe_load(stored[name])


@given(st.text(), st.text(), st.text())
def test_no_text_of_a_package_sets_a_value(name: str, description: str, default: str) -> None:
    parameter = {"name": name, "description": description, "default": default, "trigger": name}
    text = file({}, parameter, {**parameter, "value-type": description, "enum": [default]})
    assert read_values(text, "file") == {}


@pytest.mark.parametrize(
    ("kind", "value", "line"),
    [
        ("integer", "3", "A: 3"),
        ("number", "0.10", "A: 0.10"),
        ("boolean", "true", "A: true"),
        ("string", "3", "A: '3'"),
        ("string", "y", "A: 'y'"),
        ("integer", "3\nB: 4", "A: |-"),
        ("map", "[1", "A: '[1'"),
        ("array", "[80, 443]", "A:\n- 80\n- 443"),
        ("string", "a\nb\n", "A: |\n  a\n  b"),
    ],
)
def test_values_are_written_as_people_write_them(kind: str, value: str, line: str) -> None:
    text = file({"A": value}, {"name": "A", "value-type": kind})
    assert f"\n{line}\n" in text


def test_a_default_of_several_lines_is_a_comment_as_a_whole() -> None:
    text = file({}, {"name": "A", "default": "a\nb\n"})
    assert text.endswith("# type string\n#A: |\n#  a\n#  b\n")


def test_a_value_that_no_file_can_have_stays_as_it_is() -> None:
    text = file({"A": "\ud800", "B": "1"}, {"name": "A"}, {"name": "B"})
    assert "# A has a value that no file can have; it stays as it is.\n" in text
    assert read_values(text, "file") == {"B": "1"}


def test_differences_are_those_of_the_values() -> None:
    before, after = {"A": "1", "B": "2", "C": "3"}, {"A": "1", "B": "4", "D": "5"}
    assert differences(before, after) == {"B": "4", "C": None, "D": "5"}


def test_a_fault_stands_on_top_with_the_lines_of_the_whole_file() -> None:
    text = with_fault("A: 1\nB\n", "line 2 is wrong\nreally", in_file=True)
    assert text == (
        "#! Nothing was sent. Correct this, or save no change to give up:\n"
        "#! line 5 is wrong\n"
        "#! really\n"
        "A: 1\n"
        "B\n"
    )
    assert without_fault(text) == "A: 1\nB\n"
    assert without_fault("A: 1\n") == "A: 1\n"
    assert without_fault("") == ""
    assert "line 2" in with_fault("A", "line 2", in_file=False)
