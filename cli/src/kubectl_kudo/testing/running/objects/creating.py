"""Creates objects that the run deletes later."""

from kubectl_kudo.testing.running.objects.cluster import Cluster
from kubectl_kudo.testing.running.record import MadeObject, Record
from kubeio.connection.completion import finished
from kubeio.errors import ApiError, ConnectionLost
from kubeio.resource import Resource, namespace_of
from kubeio.types import JsonObject


async def create_recorded(
    cluster: Cluster, record: Record, resource: Resource, obj: JsonObject, *, scope: str
) -> JsonObject:
    """Create an object, and note it before that and its uid after that.

    Args:
        cluster: Where.
        record: Where it is noted.
        resource: Its kind.
        obj: The object; a namespaced one with its namespace.
        scope: What it is deleted with.

    Raises:
        AlreadyExists: the name is taken.
        KubeError: the API server refused it, or could not be reached.
    """
    name = str(obj["metadata"].get("name") or "")
    namespace = namespace_of(obj) or ""
    made = record.will_create(resource, namespace, name, scope=scope, kubeconfig=cluster.kubeconfig)
    # A run that is interrupted meanwhile waits for the answer: without its uid, the object stays.
    return await finished(_create(cluster, record, resource, obj, made))


async def _create(
    cluster: Cluster, record: Record, resource: Resource, obj: JsonObject, made: MadeObject
) -> JsonObject:
    try:
        stored = await cluster.client.create(resource, obj)
    except ApiError:
        record.gone(made)
        raise
    except ConnectionLost as error:
        # Of a request that may have been sent, nobody knows whether it had an effect.
        if not error.maybe_sent:
            record.gone(made)
        raise
    metadata = stored["metadata"]
    record.created(made, str(metadata["name"]), str(metadata["uid"]))
    return stored
