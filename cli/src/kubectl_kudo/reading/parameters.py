"""Parameters of an Instance: their values, and whether those are set or the default."""

from dataclasses import dataclass

from kubectl_kudo.session.output import JsonObject
from kudo.api.known_secrets import is_sensitive

SET, DEFAULT, NONE, UNDECLARED = "set", "default", "none", "undeclared"
"""Where a value is from. Of an undeclared one the OperatorVersion says nothing, so no plan uses
it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an Instance.

    Attributes:
        name: Its name.
        value: The value in use, None if it has neither value nor default.
        source: One of `set`, `default`, `none` and `undeclared`.
        declaration: That of the OperatorVersion, empty if there is none.
    """

    name: str
    value: str | None
    source: str
    declaration: JsonObject

    @property
    def is_secret(self) -> bool:
        """Whether its name says that its value is a secret."""
        return is_sensitive(self.name, of_user=True)

    def to_data(self) -> JsonObject:
        shown = ("required", "immutable", "trigger", "type", "description")
        declared = {key: self.declaration[key] for key in shown if key in self.declaration}
        default = self.declaration.get("default")
        return {
            "name": self.name,
            "value": self.value,
            "source": self.source,
            **({} if default is None else {"default": default}),
            **declared,
        }


def parameters_of(instance: JsonObject, version: JsonObject | None) -> list[Parameter]:
    """Return the parameters in the order of their names.

    Without the OperatorVersion, all that is known are the values that are set.
    """
    given = (instance.get("spec") or {}).get("parameters") or {}
    listed = ((version or {}).get("spec") or {}).get("parameters") or []
    declared = {str(one.get("name")): one for one in listed}
    found = {name: _declared(one, given.get(name)) for name, one in declared.items()}
    for name, value in given.items():
        if name not in found:
            source = SET if version is None else UNDECLARED
            found[name] = Parameter(name, value, source, {})
    return [found[name] for name in sorted(found)]


def _declared(declaration: JsonObject, value: str | None) -> Parameter:
    name, default = str(declaration.get("name")), declaration.get("default")
    if value is not None:
        return Parameter(name, value, SET, declaration)
    return Parameter(name, default, NONE if default is None else DEFAULT, declaration)
