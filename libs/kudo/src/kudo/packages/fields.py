"""Typed access to the YAML mappings of a package, with Go's leniency.

Keys match whatever their case, unknown ones are ignored, and a number or boolean where text is
declared becomes text. What cannot be read is noted as a problem that names file and field, and
read as if it were absent, so that one reading finds everything that is wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from goyaml import format_float
from kudo.api.problems import Problem, kind_of_value


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one mapping.

    Attributes:
        values: Their values, by key without regard to case.
        path: JSON path of the mapping in its file; empty for the whole file.
        file: Name of the file.
        problems: Where problems are noted; shared by all fields of a package.
    """

    values: Mapping[str, object]
    path: str
    file: str
    problems: list[Problem]

    @classmethod
    def of(cls, value: object, path: str, file: str, problems: list[Problem]) -> "Fields":
        """Return the fields of `value`, which should be a mapping; null has none."""
        fields = cls({}, path, file, problems)
        if isinstance(value, dict):
            # Of keys that differ in case only, Go lets the last one in byte order win.
            folded = {key.casefold(): value[key] for key in sorted(value)}
            return cls(folded, path, file, problems)
        if value is not None:
            fields.complain("", value, "a mapping")
        return fields

    def get(self, name: str) -> object:
        """Return the value as it is; None where it is absent."""
        return self.values.get(name.casefold())

    def has(self, name: str) -> bool:
        return name.casefold() in self.values

    def text(self, name: str) -> str:
        """Return a text; empty where it is absent."""
        return self._as_text(name, self.get(name))

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of texts; None where it is absent."""
        items = self._items(name)
        if items is None:
            return None
        return tuple(self._as_text(f"{name}[{n}]", item) for n, item in enumerate(items))

    def flag(self, name: str) -> bool | None:
        """Return a boolean; None where it is absent. Text is not taken for one, as in Go."""
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.complain(name, value, "true or false")
        return None

    def integer(self, name: str) -> int | None:
        """Return a whole number; None where it is absent."""
        value = self.get(name)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if value is not None:
            self.complain(name, value, "a whole number")
        return None

    def values_of(self, name: str) -> tuple[object, ...] | None:
        """Return a list of anything; None where it is absent."""
        items = self._items(name)
        return None if items is None else tuple(items)

    def children(self, name: str) -> tuple["Fields", ...] | None:
        """Return a list of mappings; None where it is absent."""
        items = self._items(name)
        if items is None:
            return None
        return tuple(self._child(f"{name}[{n}]", item) for n, item in enumerate(items))

    def child(self, name: str) -> "Fields":
        """Return the fields of the mapping under `name`."""
        return self._child(name, self.get(name))

    def named(self, name: str) -> dict[str, "Fields"] | None:
        """Return a mapping of mappings, keys in their own case; None where it is absent."""
        value = self.get(name)
        if isinstance(value, dict):
            return {key: self._child(f"{name}.{key}", item) for key, item in value.items()}
        if value is not None:
            self.complain(name, value, "a mapping")
        return None

    def complain(self, name: str, value: object, expected: str) -> None:
        """Note that the field `name` should be `expected`."""
        subject = self._path(name) or "the file"
        self.note(f"{subject} must be {expected}, not {kind_of_value(value)}")

    def note(self, message: str) -> None:
        """Note that something else is wrong."""
        self.problems.append(Problem("PackageInvalid", message, self.file))

    def _child(self, name: str, value: object) -> "Fields":
        return Fields.of(value, self._path(name), self.file, self.problems)

    def _items(self, name: str) -> list[object] | None:
        value = self.get(name)
        if value is None or isinstance(value, list):
            return value
        self.complain(name, value, "a list")
        return None

    def _as_text(self, name: str, value: object) -> str:
        text = "" if value is None else text_of(value)
        if text is None:
            self.complain(name, value, "text")
        return text or ""

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path and name else self.path or name


def text_of(value: object) -> str | None:
    """Return the text that a scalar becomes where text is declared, as in Go; else None."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return format_float(value, bits=32)
    return None
