"""The Operator: the properties that all versions of a package share."""

from pydantic import Field

from kudo.api import bounds
from kudo.api.base import ApiModel, ApiObject, Name, TemplateText, Text, at_most
from kudo.api.names import API_VERSION


class Maintainer(ApiModel):
    name: Name | None = Field(None, description="Name of the maintainer.")
    email: Text | None = Field(None, description="E-mail address of the maintainer.")


class OperatorSpec(ApiModel):
    """What the operator is, as its package says."""

    description: Text | None = Field(None, description="What the operator does.")
    kudo_version: Name | None = Field(None, description="Lowest version of KUDO that it needs.")
    kubernetes_version: Name | None = Field(
        None, description="Lowest version of Kubernetes that it needs."
    )
    maintainers: tuple[Maintainer, ...] | None = Field(
        None, description="Who maintains it.", json_schema_extra=at_most(bounds.MAINTAINERS)
    )
    url: Text | None = Field(None, description="Home page of the operator.")
    namespace_manifest: TemplateText | None = Field(
        None, description="Template of the Namespace that `install --create-namespace` creates."
    )


class OperatorStatus(ApiModel):
    """Kept for old objects; not used."""


class Operator(ApiObject):
    """An operator that can be installed in its namespace."""

    api_version: str = API_VERSION
    kind: str = "Operator"
    spec: OperatorSpec = OperatorSpec()
    status: OperatorStatus | None = None
