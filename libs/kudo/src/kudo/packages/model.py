"""The content of the files of a package, before conversion to API objects.

docs/package-files.md and the JSON schemas show the descriptions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import Field

from kudo.api import bounds, parameter
from kudo.api.base import ApiModel, Name, TemplateText, Text, at_most
from kudo.api.operatorversion import Maintainer, Plan, Task
from kudo.packages.files import PackageFiles
from kudo.packages.short_form import Expansion

_API_VERSION: Final = "`kudo.dev/v1beta1`, which is also meant if absent."


class PackageParameter(ApiModel):
    """A parameter in `params.yaml`."""

    name: Name = Field(
        "",
        description="Name by which templates (`.Params.NAME`) and users (`-p NAME=value`) refer "
        "to it.",
    )
    display_name: Text = Field("", description="Name for people.")
    description: Text = Field("", description="What the parameter is for.")
    required: bool = Field(
        True,
        description="Whether an Instance needs a value, its own or the default; true if absent.",
    )
    default: object = Field(
        None, description="The value of Instances that set none, as YAML of the type."
    )
    has_default: bool = Field(
        False,
        description="Whether the parameter has a default, null for example. Arrays and maps have "
        "one unless the file gives none and says `required: true`.",
        exclude=True,
    )
    trigger: Name = Field(
        "",
        description="Plan that runs when the value changes; `update`, or else `deploy`, if absent.",
    )
    type: Name = Field("", description="Type of the value; if absent, any text.")
    immutable: bool = Field(
        False,
        description="Whether the value cannot change once the Instance exists; false if absent.",
    )
    secret: bool = Field(
        False,
        description="Whether the value is a secret: Instances take it from a Secret (`-p "
        "NAME@secret=SECRET/KEY`) and nothing shows it; false if absent. It has no default.",
    )
    on_change: Name = Field(
        "",
        description="`run`, of a secret parameter: its plan runs when the Secret has another "
        "value. If absent, the next run takes that.",
    )
    enum: tuple[object, ...] | None = Field(
        None,
        description="The only values allowed; any value if absent.",
        json_schema_extra=at_most(bounds.ENUM),
    )
    minimum: parameter.Minimum = None
    maximum: parameter.Maximum = None
    min_length: parameter.MinLength = None
    max_length: parameter.MaxLength = None
    pattern: parameter.Pattern = None
    format: parameter.Format = None
    min_items: parameter.MinItems = None
    max_items: parameter.MaxItems = None
    items: parameter.Items = None
    properties: parameter.Properties = None
    additional_properties: parameter.AdditionalProperties = None
    group: str = Field("", description="Name of the group that it belongs to.")
    advanced: bool = Field(
        False,
        description="Whether only few users need it, so that lists show it last; false if absent.",
    )
    hint: str = Field("", description="What a user has to know to choose a value.")

    @property
    def bounds(self) -> Mapping[str, Any]:
        """The bounds of its value, as arguments of `kudo.api.Parameter`."""
        return {name: getattr(self, name) for name in parameter.BOUNDS}


class PackagePlan(Plan):
    """A plan in `operator.yaml`, whose parameters are written as those of `params.yaml`."""

    parameters: tuple[PackageParameter, ...] | None = Field(  # type: ignore[assignment]  # values are YAML here, and texts where they are stored
        None,
        description="What whoever triggers the plan can give to that run "
        "(`plan trigger -p NAME=value`), `.RunParams.NAME` of its templates; as in `params.yaml`, "
        "without `trigger`, `immutable`, `secret` and `onChange`.",
        json_schema_extra=at_most(bounds.RUN_PARAMETERS),
    )


class OperatorFile(ApiModel):
    """`operator.yaml`. Texts that it does not give are empty."""

    api_version: str = Field("", description=_API_VERSION)
    name: str = Field(
        "",
        description="Name of the operator, at most 63 lower-case letters, digits, `-` and `.`: "
        "its objects are named after it.",
    )
    description: Text = Field("", description="What the operator does.")
    url: Text = Field("", description="Home page of the operator.")
    operator_version: Name = Field(
        "",
        description='Version of the package, such as "1.2.0". It changes whenever a file of the '
        "package does.",
    )
    app_version: Name = Field(
        "", description='Version of the software that it runs, such as "3.11.6".'
    )
    kudo_version: Name = Field("", description="Lowest version of KUDO that it needs.")
    kubernetes_version: Name = Field(
        "", description='Lowest version of Kubernetes that it needs, such as "1.25.0".'
    )
    namespace_manifest: TemplateText = Field(
        "", description="Template of the Namespace that `install --create-namespace` creates."
    )
    prune: bool | None = Field(
        None,
        description="Whether objects that plans no longer apply are deleted after a plan that is "
        "complete; if absent, they are only reported. An Instance can say otherwise "
        "(`spec.prune`).",
    )
    maintainers: tuple[Maintainer, ...] = Field(
        (), description="Who maintains the package.", json_schema_extra=at_most(bounds.MAINTAINERS)
    )
    tasks: tuple[Task, ...] = Field(
        (),
        description="What plans can do. A step names the tasks that it runs.",
        json_schema_extra=at_most(bounds.TASKS),
    )
    plans: Mapping[str, PackagePlan] | None = Field(
        None,
        description="The plans by name. `deploy` is needed; `update`, `upgrade` and `cleanup` "
        "run by themselves where they exist, others when a parameter or a user names "
        "them.",
        json_schema_extra={"maxProperties": bounds.PLANS},
    )


class ParameterGroup(ApiModel):
    """A group in `params.yaml`: for people only, the engine does not know groups."""

    name: str = Field("", description="Name by which parameters refer to it.")
    display_name: str = Field("", description="Name for people.")
    description: str = Field("", description="What its parameters have in common.")
    priority: int = Field(
        0,
        description="Place of the group among others, from the lowest number on; 0 if absent.",
        alias="prio",
    )


class ParametersFile(ApiModel):
    """`params.yaml`."""

    api_version: str = Field("", description=_API_VERSION)
    parameters: tuple[PackageParameter, ...] = Field(
        (), description="What users can set.", json_schema_extra=at_most(bounds.PARAMETERS)
    )
    groups: tuple[ParameterGroup, ...] = Field(
        (), description="Groups of parameters, for lists and references; they change nothing else."
    )


@dataclass(frozen=True, slots=True)
class Package:
    """A package that could be read; its consistency is checked by `kudo.verification`.

    Attributes:
        templates: Template texts by name.
        scripts: Texts of the scripts that tasks name, by their paths: templates, too.
        origin: Where it was read from, for messages.
        files: The files that it was read from, for positions in them.
        expansion: `operator.yaml` in the long form, and where that is written.
    """

    operator: OperatorFile
    parameters: tuple[PackageParameter, ...]
    groups: tuple[ParameterGroup, ...]
    templates: Mapping[str, str]
    origin: str
    scripts: Mapping[str, str] = field(default_factory=dict)
    files: PackageFiles = field(default=PackageFiles("", {}), compare=False, repr=False)
    expansion: Expansion = field(
        default_factory=lambda: Expansion(None, None), compare=False, repr=False
    )

    @property
    def texts(self) -> Mapping[str, str]:
        """All that is stored as a template, by name: templates and scripts."""
        return {**self.templates, **self.scripts}
