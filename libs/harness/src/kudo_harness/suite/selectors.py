"""TestFile: files that belong only to some runs, by a label selector."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kudo_harness.findings import Place
from kudo_harness.suite.fields import Fields


class Operator(StrEnum):
    """Operators of a label selector, as of metav1.LabelSelector."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of a label selector."""

    key: str
    operator: Operator
    values: tuple[str, ...]

    def holds(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The fields of a TestFile.

    Attributes:
        selector: All must hold; none select every run.
        place: Where it is written.
    """

    selector: tuple[Requirement, ...]
    place: Place

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether the file belongs to a run with these labels."""
        return all(requirement.holds(labels) for requirement in self.selector)


def file_options(fields: Fields) -> FileOptions:
    """Read the selector of a TestFile."""
    selector = Fields.of(
        fields.reading,
        ("testRunSelector",),
        fields.values.get("testRunSelector"),
        ("matchLabels", "matchExpressions"),
    )
    labels = selector.labels("matchLabels")
    requirements = [Requirement(key, Operator.IN, (value,)) for key, value in labels.items()]
    for n, item in enumerate(selector.items("matchExpressions")):
        requirement = _requirement(selector, n, item)
        if requirement is not None:
            requirements.append(requirement)
    return FileOptions(tuple(requirements), fields.place)


def _requirement(selector: Fields, n: int, value: object) -> Requirement | None:
    fields = Fields.of(
        selector.reading,
        (*selector.path, "matchExpressions", n),
        value,
        ("key", "operator", "values"),
    )
    key, operator = fields.text("key"), fields.choice("operator", Operator)
    values = tuple(text.value for text in fields.texts("values"))
    if not key or operator is None:
        fields.error("MissingField", "key and operator must be set")
        return None
    if bool(values) != (operator in {Operator.IN, Operator.NOT_IN}):
        what = "no values" if values else "at least one value"
        fields.error("InvalidField", f"the operator {operator} needs {what}", "values")
        return None
    return Requirement(key, operator, values)
