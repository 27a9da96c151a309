"""The hash over what KUDO never applied: what is somebody's, missing, or not to be counted."""

import hashlib

from kubeio.client import Client
from tests.integration.takeover.operator_of_old import small_deployment, version_of_old
from tests.integration.takeover.original import SECRETS, hash_over
from tests.integration.takeover.watching import (
    Watcher,
    original_in_charge,
    restarted,
    run_to_end,
    settled,
)
from tests.support.cluster.world import World

OF_ONE_MISSING = "4ae71336e44bf9bf79d2752e234818a5"
"""Recorded: the hash over one dependency that is missing or skipped."""
OF_TWO_MISSING = hashlib.md5(bytes(32)).hexdigest()
_SOMEBODYS = """object:
  apiVersion: ""
  data:
    token: c2VjcmV0
  kind: ""
  metadata:
    annotations: {}
    deletionGracePeriodSeconds: 0
    finalizers: []
    managedFields: []
    name: somebodys
    ownerReferences: []
    remainingItemCount: 0
  type: Opaque
"""
_SKIPPED = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: skipped
  annotations: {kudo.dev/skip-hash-calculation: ""}
data: {value: "{{ .Params.VALUE_A }}"}
"""
SOMEBODYS = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "somebodys"},
    "stringData": {"token": "secret"},
}
HASHES = {
    "keyed": hash_over(_SOMEBODYS),
    "lacking": OF_ONE_MISSING,
    "skipping": OF_ONE_MISSING,
    "lacking-twice": OF_TWO_MISSING,
}
VERSION = version_of_old(
    templates={
        "workloads.yaml": "\n---\n".join(
            (
                small_deployment("keyed", "- name: v", "  secret: {secretName: somebodys}"),
                small_deployment(
                    "lacking", "- name: v", "  configMap: {name: nothing, optional: true}"
                ),
                small_deployment("skipping", "- name: v", "  configMap: {name: skipped}"),
                small_deployment(
                    "lacking-twice",
                    *("- name: v", "  secret: {secretName: nothing, optional: true}"),
                    *("- name: w", "  secret: {secretName: nothing, optional: true}"),
                ),
            )
        ),
        "skipped.yaml": _SKIPPED,
    },
    deploy=["skipped.yaml", "workloads.yaml"],
    workloads=["workloads.yaml"],
)


async def test_what_the_original_did_not_apply_is_hashed_as_it_did(
    world: World, admin: Client
) -> None:
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin, HASHES) as original:
        await admin.create(SECRETS, SOMEBODYS, namespace=world.namespace)
        await original.install(VERSION)
        before = await watcher.workloads()
    await settled(world)
    assert {name: one.hash for name, one in before.items()} == HASHES

    await run_to_end(world, admin, {"planExecution": {"planName": "workloads"}}, "workloads")
    assert restarted(before, await watcher.workloads()) == set()

    await run_to_end(world, admin, {"parameters": {"VALUE_A": "ChangedValue"}})
    assert restarted(before, await watcher.workloads()) == set()


async def test_a_secret_of_somebody_counts_with_the_next_run(world: World, admin: Client) -> None:
    watcher = Watcher(admin, world.namespace)
    async with original_in_charge(world, admin, HASHES) as original:
        await admin.create(SECRETS, SOMEBODYS, namespace=world.namespace)
        await original.install(VERSION)
        before = await watcher.workloads()
    await settled(world)
    await admin.merge_patch(
        SECRETS, "somebodys", {"stringData": {"token": "new"}}, namespace=world.namespace
    )

    await run_to_end(world, admin, {"planExecution": {"planName": "workloads"}}, "workloads")

    assert restarted(before, await watcher.workloads()) == {"keyed"}
