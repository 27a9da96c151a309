"""The Operator: what is known of a package apart from its versions."""

from pydantic import Field

from kudo.api.base import ApiModel, ApiObject
from kudo.names import API_VERSION


class Maintainer(ApiModel):
    name: str | None = Field(None, description="Name of the maintainer.")
    email: str | None = Field(None, description="E-mail address of the maintainer.")


class OperatorSpec(ApiModel):
    description: str | None = Field(None, description="What the operator does.")
    kudo_version: str | None = Field(None, description="Lowest version of KUDO that it needs.")
    kubernetes_version: str | None = Field(
        None, description="Lowest version of Kubernetes that it needs."
    )
    maintainers: tuple[Maintainer, ...] | None = Field(None, description="Who maintains it.")
    url: str | None = Field(None, description="Home page of the operator.")
    namespace_manifest: str | None = Field(
        None, description="Template of the Namespace that `install --create-namespace` creates."
    )


class OperatorStatus(ApiModel):
    pass


class Operator(ApiObject):
    """An operator that can be installed in its namespace."""

    api_version: str = API_VERSION
    kind: str = "Operator"
    spec: OperatorSpec = OperatorSpec()
    status: OperatorStatus | None = None
