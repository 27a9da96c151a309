"""The content of the files of a package, before conversion to API objects."""

from collections.abc import Mapping
from dataclasses import dataclass

from kudo.api import Maintainer, Plan, Task


@dataclass(frozen=True, slots=True)
class OperatorFile:
    """`operator.yaml`. Texts that it does not give are empty."""

    name: str = ""
    description: str = ""
    operator_version: str = ""
    app_version: str = ""
    kudo_version: str = ""
    kubernetes_version: str = ""
    url: str = ""
    namespace_manifest: str = ""
    maintainers: tuple[Maintainer, ...] = ()
    tasks: tuple[Task, ...] = ()
    plans: Mapping[str, Plan] | None = None


@dataclass(frozen=True, slots=True)
class PackageParameter:
    """A parameter in `params.yaml`.

    Attributes:
        default: The default as YAML value.
        has_default: Whether the parameter has a default, null for example. Arrays and maps have
            one unless the file gives none and says `required: true`.
        type: Name of the type; empty means an untyped string.
        enum: The allowed YAML values; None where any value goes.
    """

    name: str = ""
    display_name: str = ""
    description: str = ""
    required: bool = True
    default: object = None
    has_default: bool = False
    trigger: str = ""
    type: str = ""
    immutable: bool = False
    enum: tuple[object, ...] | None = None
    group: str = ""
    advanced: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """A group in `params.yaml`: for people only, the engine does not know groups."""

    name: str = ""
    display_name: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Package:
    """A package that could be read; its consistency is checked by `kudo.verification`.

    Attributes:
        templates: Template texts by name.
        origin: Where it was read from, for messages.
    """

    operator: OperatorFile
    parameters: tuple[PackageParameter, ...]
    groups: tuple[ParameterGroup, ...]
    templates: Mapping[str, str]
    origin: str
