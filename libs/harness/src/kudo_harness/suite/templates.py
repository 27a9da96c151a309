"""Renders `.gotmpl.yaml` files of a case."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gotemplate import Environment, TemplateError
from kudo.tasks.template_lines import template_lines
from kudo_harness.findings import Findings, Place
from kudo_harness.suite.documents import SourceLine

# Templates come with packages of others: none of the functions reads environment, files or network.
_STRICT: Final = Environment(policy="operator", missing_key="error")
_LENIENT: Final = Environment(policy="operator", missing_key="default")
"""As kuttl renders: what is not there is `<no value>`."""


@dataclass(frozen=True, slots=True)
class TemplateValues:
    """What templates of a case can refer to.

    Attributes:
        namespace: `.Namespace`.
        variables: `.Vars`.
    """

    namespace: str
    variables: Mapping[str, object] = field(default_factory=dict)

    def data(self) -> dict[str, object]:
        return {"Namespace": self.namespace, "Vars": dict(self.variables)}


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of a template, and the lines that its lines come from."""

    text: str
    source_line: SourceLine


def render_template(
    file: str, text: str, values: TemplateValues, findings: Findings
) -> Rendered | None:
    """Return what a template renders; an error is noted, with its line in the template.

    A variable that nobody gave is a warning.
    """
    data = values.data()
    try:
        rendered = _STRICT.parse(file, text).render(data)
    except TemplateError as error:
        place = Place(file, error.line or 0)
        try:
            rendered = _LENIENT.parse(file, text).render(data)
        except TemplateError:
            findings.error("InvalidTemplate", str(error), place)
            return None
        message = f'{error}; "<no value>" is written, as kuttl does'
        findings.warning("VariableUnknown", message, place)

    lines = template_lines(file, text, data)

    def source_line(line: int) -> int:
        return lines[line - 1] if 0 < line <= len(lines) else line

    return Rendered(rendered, source_line)
