"""Access to the fields of the harness's own kinds.

Kubernetes matches the names of fields exactly and converts no types; so does this. A field of
another type is an error with its line, and read as if it were absent. An unknown one is a warning,
since kuttl ignores it, unless it is in a part that only this harness has.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from kudo.api.problems import kind_of_value, shown, shown_name
from kudo_harness.findings import Findings, Place, did_you_mean
from kudo_harness.suite.documents import Document, Path, PathElement, SuiteLimits
from kudo_harness.suite.model import Text

MOST_UNKNOWN: Final = 20
"""Unknown fields of a mapping that are told: to look for the field that was meant takes long."""
_Enum = TypeVar("_Enum", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Reading:
    """What all fields of a document share.

    Attributes:
        document: The document.
        findings: Where errors are noted.
        limits: How long lists and texts may be.
    """

    document: Document
    findings: Findings
    limits: SuiteLimits


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a mapping.

    Attributes:
        reading: The document and where errors are noted.
        path: Of the mapping in the document.
        values: The fields.
    """

    reading: Reading
    path: Path
    values: Mapping[str, object]

    @classmethod
    def of(
        cls,
        reading: Reading,
        path: Path,
        value: object,
        allowed: Iterable[str],
        hints: Mapping[str, str] | None = None,
        *,
        strict: bool = False,
    ) -> "Fields":
        """Return the fields of a value; others than the known ones are noted.

        Args:
            reading: The document.
            path: Of the value.
            value: Should be a mapping; null has no fields.
            allowed: The names of the fields.
            hints: What to do about fields that are no longer there, by name.
            strict: Whether others are errors, and not warnings.
        """
        fields = cls(reading, path, value if isinstance(value, dict) else {})
        if not isinstance(value, dict | None):
            fields._mistyped((), value, "a mapping")
        names, findings = list(allowed), reading.findings
        note = findings.error if strict else findings.warning
        unknown = [name for name in fields.values if name not in names]
        for name in unknown[:MOST_UNKNOWN]:
            message = f"unknown field {fields._advised(name, names, hints or {})}"
            note("UnknownField", message, fields.place_of(name))
        if len(unknown) > MOST_UNKNOWN:
            message = f"and {len(unknown) - MOST_UNKNOWN} more unknown fields"
            note("UnknownField", message, fields.place)
        return fields

    @property
    def place(self) -> Place:
        return self.reading.document.place(*self.path)

    def place_of(self, *name: PathElement) -> Place:
        return self.reading.document.place(*self.path, *name)

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        """Return a text; the default where it is absent."""
        value = self.values.get(name)
        return default if value is None else self._text((name,), value)

    def located(self, name: str) -> Text | None:
        """Return a text and its place; None where it is absent or empty."""
        text = self.text(name)
        return Text(text, self.place_of(name)) if text else None

    def texts(self, name: str) -> tuple[Text, ...]:
        """Return a list of texts."""
        return tuple(
            Text(self._text((name, n), item), self.place_of(name, n))
            for n, item in enumerate(self.items(name))
        )

    def flag(self, name: str) -> bool:
        """Return a boolean; False where it is absent."""
        value = self.values.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self._mistyped((name,), value, "true or false")
        return False

    def line_of_flag(self, name: str) -> Place | None:
        """Return the place of a boolean that is true, else None."""
        return self.place_of(name) if self.flag(name) else None

    def integer(self, name: str, default: int = 0) -> int:
        """Return a whole number; the default where it is absent."""
        value = self.values.get(name)
        if value is None:
            return default
        # Kubernetes reads 3.0 of a YAML file as 3.
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self._mistyped((name,), value, "a whole number")
        return default

    def choice(self, name: str, choices: type[_Enum]) -> _Enum | None:
        """Return a value of an enumeration, whatever its case; None where it is absent."""
        text = self.text(name)
        if not text:
            return None
        for choice in choices:
            if choice.lower() == text.lower():
                return choice
        message = f"{name} must be one of {', '.join(choices)}, not {shown(text)}"
        self.error("InvalidField", message, name)
        return None

    def labels(self, name: str) -> dict[str, str]:
        """Return a mapping of texts."""
        value = self.values.get(name)
        if isinstance(value, dict):
            return {key: self._text((name, key), item) for key, item in value.items()}
        if value is not None:
            self._mistyped((name,), value, "a mapping")
        return {}

    def items(self, name: str) -> list[object]:
        """Return a list of anything."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self._mistyped((name,), value, "a list")
            return []
        if len(value) > self.reading.limits.items:
            message = f"{name} has more than {self.reading.limits.items} items"
            self.error("SuiteTooLarge", message, name)
            return []
        return value

    def error(self, reason: str, message: str, *name: PathElement) -> None:
        self.reading.findings.error(reason, message, self.place_of(*name))

    def warning(self, reason: str, message: str, *name: PathElement) -> None:
        self.reading.findings.warning(reason, message, self.place_of(*name))

    def _text(self, name: Path, value: object) -> str:
        if not isinstance(value, str):
            self._mistyped(name, value, "text")
            return ""
        most = self.reading.limits.text
        if len(value) > most:
            message = f"{path_text((*self.path, *name))} is longer than {most} characters"
            self.error("SuiteTooLarge", message, *name)
            return ""
        return value

    def _mistyped(self, name: Path, value: object, expected: str) -> None:
        subject = path_text((*self.path, *name)) or "the document"
        hint = "; write it in quotes" if expected == "text" and _is_scalar(value) else ""
        message = f"{subject} must be {expected}, not {kind_of_value(value)}{hint}"
        self.error("InvalidField", message, *name)

    def _advised(self, name: str, allowed: list[str], hints: Mapping[str, str]) -> str:
        """Return the path of a field, and what was probably meant."""
        if name in hints:
            advice = hints[name]
        else:
            advice = did_you_mean(name, allowed) or f"there are {', '.join(sorted(allowed))}"
        return f"{path_text((*self.path, shown_name(name)))}; {advice}"


def path_text(path: Path) -> str:
    """Return a path as messages show it: `commands[0].command`."""
    text = ""
    for element in path:
        if isinstance(element, int):
            text += f"[{element}]"
        else:
            text += f".{element}" if text else element
    return text


def _is_scalar(value: object) -> bool:
    return isinstance(value, bool | int | float)
