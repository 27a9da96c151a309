"""Which templates use a secret value, and who sees which values."""

from dataclasses import replace

import pytest

from kudo.api import OperatorVersion
from kudo.api.problems import Problem
from kudo.api.task_kinds import FatalTaskError
from kudo_reconciler.execution.run_values import NO_VALUES, RunValues
from tests.support import build

READ = RunValues({"PIN": "4711", "MODE": "fast"}, frozenset({"PIN"}))


def version(text: str) -> OperatorVersion:
    return OperatorVersion.from_wire(build.stored_version(templates={"a.yaml": text}))


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("a: {{ .Params.PIN }}", True),
        ('a: {{ index .Params "PIN" | b64enc }}', True),
        ("{{ if .Params.PIN }}a: b{{ end }}", True),
        ("{{ range $key, $value := .Params }}{{ $key }}{{ end }}", True),
        ("{{ toYaml . }}", True),
        ("{{ broken", True),
        ("a: {{ .Params.MODE }}", False),
        ("# " + "x" * 70_000, True),
    ],
)
def test_what_may_use_a_secret_value_is_confidential(text: str, uses: bool) -> None:
    assert replace(READ).is_confidential(version(text), "a.yaml") is uses
    assert not NO_VALUES.is_confidential(version(text), "a.yaml")


def test_a_text_that_is_no_template_of_the_version_is_confidential() -> None:
    assert READ.is_confidential(version(""), "env of a Job")


def test_expressions_see_what_is_no_secret() -> None:
    own = {"MODE": "slow", "SIZE": "1"}
    assert READ.of(own) == {"MODE": "fast", "SIZE": "1", "PIN": "4711"}
    assert READ.of(own, secret=False) == {"MODE": "fast", "SIZE": "1"}
    assert "4711" not in repr(READ)


def test_the_error_of_a_rendering_says_which_value_is_missing() -> None:
    missing = RunValues(missing={"PIN": Problem("ParameterSourceMissing", "no Secret", "f")})
    said = FatalTaskError("TaskRenderingError", 'map has no entry for key "PIN"')
    explained = missing.explained(said)
    assert explained.reason == "ParameterSourceMissing"
    assert str(explained).endswith("no Secret")
    other = FatalTaskError("TaskRenderingError", 'map has no entry for key "PINS"')
    assert missing.explained(other) is other
