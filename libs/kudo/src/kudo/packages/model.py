"""The content of the files of a package, before conversion to API objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kudo.packages.files import PackageFiles
from kudo.packages.plans import PackageMaintainer, PackagePlan, PackageTask


@dataclass(frozen=True, slots=True)
class OperatorFile:
    """`operator.yaml`. Texts that it does not give are empty.

    docs/package-files.md shows these descriptions.

    Attributes:
        name: Name of the operator, at most 63 lower-case letters, digits, `-` and `.`: its objects
            are named after it.
        description: What the operator does.
        operator_version: Version of the package, such as "1.2.0". It changes whenever a file of the
            package does.
        app_version: Version of the software that it runs, such as "3.11.6".
        kudo_version: Lowest version of KUDO that it needs.
        kubernetes_version: Lowest version of Kubernetes that it needs, such as "1.25.0".
        url: Home page of the operator.
        namespace_manifest: Template of the Namespace that `install --create-namespace` creates.
        prune: Whether objects that plans no longer apply are deleted after a plan that is complete;
            if absent, they are only reported. An Instance can say otherwise (`spec.prune`).
        maintainers: Who maintains the package.
        tasks: What plans can do. A step names the tasks that it runs.
        plans: The plans by name. `deploy` is needed; `update`, `upgrade` and `cleanup` run by
            themselves where they exist, others when a parameter or a user names them.
    """

    name: str = ""
    description: str = ""
    operator_version: str = ""
    app_version: str = ""
    kudo_version: str = ""
    kubernetes_version: str = ""
    url: str = ""
    namespace_manifest: str = ""
    prune: bool | None = None
    maintainers: tuple[PackageMaintainer, ...] = ()
    tasks: tuple[PackageTask, ...] = ()
    plans: Mapping[str, PackagePlan] | None = None


@dataclass(frozen=True, slots=True)
class PackageParameter:
    """A parameter in `params.yaml`.

    docs/package-files.md shows these descriptions.

    Attributes:
        name: Name by which templates (`.Params.NAME`) and users (`-p NAME=value`) refer to it.
        display_name: Name for people.
        description: What the parameter is for.
        required: Whether an Instance needs a value, its own or the default; true if absent.
        default: The value of Instances that set none, as YAML of the type.
        has_default: Whether the parameter has a default, null for example. Arrays and maps have
            one unless the file gives none and says `required: true`.
        trigger: Plan that runs when the value changes; `update`, or else `deploy`, if absent.
        type: Type of the value; if absent, any text.
        immutable: Whether the value cannot change once the Instance exists; false if absent.
        enum: The only values allowed; any value if absent.
        group: Name of the group that it belongs to.
        advanced: Whether only few users need it, so that lists show it last; false if absent.
        hint: What a user has to know to choose a value.
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
    """A group in `params.yaml`: for people only, the engine does not know groups.

    docs/package-files.md shows these descriptions.

    Attributes:
        name: Name by which parameters refer to it.
        display_name: Name for people.
        description: What its parameters have in common.
        priority: Place of the group among others, from the lowest number on; 0 if absent.
    """

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
        files: The files that it was read from, for positions in them.
    """

    operator: OperatorFile
    parameters: tuple[PackageParameter, ...]
    groups: tuple[ParameterGroup, ...]
    templates: Mapping[str, str]
    origin: str
    files: PackageFiles = field(default=PackageFiles("", {}), compare=False, repr=False)
