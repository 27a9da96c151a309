"""Custom resources: defaults, generations, status, schema."""

from tests.integration.conformance.recording import Recorder
from tests.integration.conformance.scripts.objects import (
    WIDGETS,
    Scripts,
    version_of,
    widget,
    with_metadata,
)

SCRIPTS = Scripts()


@SCRIPTS.add
async def a_custom_resource_has_defaults_and_generations(api: Recorder) -> None:
    client, where = api.client, api.namespace
    body = {**widget(api, unknown=1, extra={"free": [1]}), "status": {"phase": "made"}}
    made = await api.call("create", client.create(WIDGETS, body))
    labelled = with_metadata(made, labels={"l": "1"})
    labelled = await api.call("replace its labels", client.replace(WIDGETS, labelled))
    bigger = {**labelled, "spec": {**labelled["spec"], "size": 2}, "status": {"phase": "no"}}
    bigger = await api.call("replace its spec", client.replace(WIDGETS, bigger))
    body = {**with_metadata(bigger, labels={"l": "2"}), "spec": {"size": 3}, "status": {"seen": 1}}
    seen = await api.call("replace its status", client.replace(WIDGETS, body, subresource="status"))
    same = await api.call("the same status", client.replace(WIDGETS, seen, subresource="status"))
    api.note("the same version", version_of(seen) == version_of(same))
    await api.call("a stale status", client.replace(WIDGETS, bigger, subresource="status"))
    absent = {**seen, "metadata": {**seen["metadata"], "name": "other"}}
    await api.call("status of none", client.replace(WIDGETS, absent, subresource="status"))
    patch = {"status": {"phase": "late"}, "spec": {"size": 9}}
    await api.call(
        "patch its status",
        client.merge_patch(WIDGETS, "w", patch, namespace=where, subresource="status"),
    )
    await api.call("patch both", client.merge_patch(WIDGETS, "w", patch, namespace=where))
    unversioned = {**seen, "metadata": {"name": "w", "namespace": where}}
    await api.call("replace without a version", client.replace(WIDGETS, unversioned))
    await api.call(
        "get its status", client.get(WIDGETS, "w", namespace=where, subresource="status")
    )
    path = WIDGETS.path(where, "w", "scale")
    await api.call("no such subresource", client.raw("GET", path))


@SCRIPTS.add
async def a_custom_resource_is_validated(api: Recorder) -> None:
    client = api.client
    await api.call("a wrong type", client.create(WIDGETS, widget(api, size="big")))
    await api.call("too small", client.create(WIDGETS, widget(api, size=-1)))
    await api.call("no such value", client.create(WIDGETS, widget(api, color="green")))
    missing = {**widget(api), "spec": {}}
    await api.call("missing", client.create(WIDGETS, missing))
    await api.call("of a list", client.create(WIDGETS, widget(api, order=[1])))
    await api.call("null", client.create(WIDGETS, widget(api, color=None)))
