"""CertificateSigningRequests."""

from kudo.api import JsonObject
from kudo.removed_apis.errors import NotMechanical
from kudo.removed_apis.shapes import mapping_at, set_default


def upgrade_signing_request(request: JsonObject) -> None:
    """Write the default of usages out.

    Raises:
        NotMechanical: the signer is not named; v1beta1 guessed it from the request.
    """
    spec = mapping_at(request, "spec")
    if spec is None:
        return
    if spec.get("signerName") in (None, "kubernetes.io/legacy-unknown"):
        raise NotMechanical(
            "certificates.k8s.io/v1 needs a signer, and knows no kubernetes.io/legacy-unknown: "
            "set spec.signerName"
        )
    set_default(spec, "usages", ["digital signature", "key encipherment"])
