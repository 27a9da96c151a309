"""The Secret with the key for digests, which `init` makes once and keeps.

Only the reconciler reads it, mounted as a file. Another key is no harm: each record of a Secret
is written once more. None is no harm either, so an installation does not end for it: users who may
install all the rest, and have no rights on Secrets, can make it later.
"""

import base64
import secrets
from typing import Final

from kubectl_kudo.session.errors import CliError, describe
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.setup.cluster import find
from kubectl_kudo.setup.kinds import MANAGED_BY
from kubeio.client import Client
from kubeio.errors import AlreadyExists, ApiError, ConnectionLost, Forbidden
from kubeio.kinds import SECRETS

NAME: Final = "kudo-digest-key"
_BYTES: Final = 32


async def make_digest_key(client: Client, namespace: str) -> None:
    """Create the Secret if there is none; without the right to, say what is missing.

    Raises:
        CliError: the API server refused it for another reason, or did not answer.
    """
    try:
        if await find(client, SECRETS, NAME, namespace) is None:
            await client.create(SECRETS, _secret(), namespace=namespace)
    except AlreadyExists:
        return
    except Forbidden as error:
        talk(
            f"Warning: secret/{NAME} was not made: {describe(error)}\nKUDO works without it, and "
            "records Secrets without a digest. If there is none, docs/installing.md tells under "
            "Inventories how to make it; then restart the reconciler."
        )
    except (ApiError, ConnectionLost) as error:
        raise CliError(f"failed to create secret/{NAME}: {describe(error)}") from error


def _secret() -> JsonObject:
    labels = {"app.kubernetes.io/part-of": "kudo", MANAGED_BY: "kubectl-kudo"}
    return {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {"name": NAME, "labels": labels},
        "type": "Opaque",
        "data": {"key": base64.b64encode(secrets.token_bytes(_BYTES)).decode()},
    }
