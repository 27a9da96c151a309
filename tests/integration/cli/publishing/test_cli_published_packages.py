"""What packages written for KUDO 0.19 rely on: parameters without default, Roles of their own."""

import json
from pathlib import Path

import pytest

from tests.integration.cli.packages import write_package
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World

RBAC = "rbac.authorization.k8s.io"


def package(folder: Path, *parameters: Json, **templates: str) -> Path:
    """Write a package whose deploy plan applies these templates."""
    names = [f"{name}.yaml" for name in templates]
    return write_package(
        folder,
        templates=templates,
        parameters=parameters,
        name="published",
        operatorVersion="1.0.0",
        tasks=[{"name": "apply", "kind": "Apply", "spec": {"resources": names}}],
        plans={"deploy": build.plan({"apply": ["apply"]})},
    )


async def install(world: World, folder: Path, *arguments: str) -> None:
    done = await world.kudo("install", str(folder), "--instance", "i", "--wait", *arguments)
    assert done.code == 0, done.output
    instance = await world.until_complete("i")
    assert instances.status_of(instance, "deploy") == "COMPLETE"
    assert instances.conditions(instance) == ["Ready"]


async def test_arrays_and_maps_without_default_install_without_a_value(
    world: World, tmp_path: Path
) -> None:
    text = build.template(
        build.config_map(
            "{{ .Name }}", array="{{ .Params.TOLERATIONS }}", map="{{ .Params.LABELS }}"
        )
    )
    folder = package(
        tmp_path / "package",
        {"name": "TOLERATIONS", "type": "array"},
        {"name": "LABELS", "type": "map"},
        config=text,
    )

    await install(world, folder)

    assert (await world.get(CONFIG_MAPS, "i"))["data"] == {"array": "[]", "map": "<no value>"}


@pytest.mark.campaign
async def test_an_array_that_says_required_needs_a_value(world: World, tmp_path: Path) -> None:
    text = build.template(build.config_map("{{ .Name }}", array="{{ .Params.TOLERATIONS }}"))
    folder = package(
        tmp_path / "package",
        {"name": "TOLERATIONS", "type": "array", "required": True},
        config=text,
    )

    done = await world.kudo("install", str(folder), "--instance", "i")

    assert done.code != 0
    assert "missing required parameters during installation: TOLERATIONS" in done.stderr
    await install(world, folder, "-p", "TOLERATIONS=[a]")
    assert (await world.get(CONFIG_MAPS, "i"))["data"] == {"array": "[a]"}


async def test_a_package_brings_its_service_account_role_and_binding(
    world: World, tmp_path: Path
) -> None:
    named = {"metadata": {"name": "{{ .Name }}-peers"}}
    rule = {"apiGroups": [""], "resources": ["endpoints"], "verbs": ["get"]}
    subject = {"kind": "ServiceAccount", "name": "{{ .Name }}-peers"}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "{{ .Name }}-peers"}
    folder = package(
        tmp_path / "package",
        account=build.template({"apiVersion": "v1", "kind": "ServiceAccount", **named}),
        role=build.template({"apiVersion": f"{RBAC}/v1", "kind": "Role", **named, "rules": [rule]}),
        binding=build.template(
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": "RoleBinding",
                **named,
                "roleRef": reference,
                "subjects": [subject],
            }
        ),
        web=build.template(build.deployment("{{ .Name }}-web")),
    )

    await install(world, folder)

    admin = world.installation.cluster.kubeconfig("admin")
    account = f"system:serviceaccount:{world.namespace}:i-peers"
    done = await world.kubectl(
        f"--kubeconfig={admin}", "auth", "can-i", "get", "endpoints", f"--as={account}"
    )
    assert done.stdout.strip() == "yes", done.output
    done = await world.kubectl(f"--kubeconfig={admin}", "get", "roles,rolebindings", "-o", "json")
    owners = {
        (obj["kind"], owner["name"])
        for obj in json.loads(done.stdout)["items"]
        for owner in obj["metadata"]["ownerReferences"]
    }
    assert owners == {("Role", "i"), ("RoleBinding", "i")}
