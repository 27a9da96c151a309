"""`diagnostics collect` on a real API server: whose objects there are, and what may not be read."""

import base64
import gzip
import json
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
import yaml

from kubeio.client import Client
from kubeio.resource import CLUSTER_ROLES
from tests.integration.cli.packages import write_package
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.resources import VERSIONS
from tests.support.cluster.world import World

PIN = "correct-horse-battery"
PASSWORD = "milk-and-sugar"


def secret(name: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": {"pin": "{{ .Params.PIN }}", "file": "a: {{ .Params.PIN }}\nb: c\n"},
    }


@pytest.fixture
async def roles(world: World, admin: Client) -> AsyncIterator[list[str]]:
    """Yield the names of ClusterRoles that an Instance `web` uses here, and one elsewhere."""
    names: list[str] = []
    for namespace in (world.namespace, "elsewhere"):
        metadata = {
            "name": f"{world.namespace}-{namespace}",
            "labels": {"kudo.dev/instance": "web"},
            "annotations": {"kudo.dev/shared-by": f"{namespace}/web/uid"},
        }
        await admin.create(CLUSTER_ROLES, {"metadata": metadata, "rules": []})
        names.append(str(metadata["name"]))
    yield names
    for name in names:
        await admin.delete(CLUSTER_ROLES, name)


@pytest.fixture
async def shop(world: World, tmp_path: Path) -> World:
    """Return a namespace with two Instances of an operator: `web`, which has a child, and `own`."""
    child = write_package(
        tmp_path / "shop" / "db",
        name="db",
        operatorVersion="0.1.0",
        tasks=[{"name": "app", "kind": "Apply", "spec": {"resources": ["app.yaml"]}}],
        plans={"deploy": build.plan({"app": ["app"]})},
        templates={"app": build.template(build.config_map("{{ .Name }}-data", size="big"))},
    )
    write_package(
        tmp_path / "shop",
        name="shop",
        operatorVersion="0.1.0",
        parameters=[
            build.parameter("PIN", "none-at-all"),
            build.parameter("ADMIN_PASSWORD", "none-at-all"),
        ],
        tasks=[
            {"name": "app", "kind": "Apply", "spec": {"resources": ["app.yaml"]}},
            {"name": "db", "kind": "KudoOperator", "spec": {"package": f"./{child.name}"}},
        ],
        plans={"deploy": build.plan({"app": ["app", "db"]})},
        templates={
            "app": build.template(
                secret("{{ .Name }}-secret"),
                build.deployment("{{ .Name }}"),
                build.config_map(
                    "{{ .Name }}-config",
                    password="{{ .Params.ADMIN_PASSWORD }}",
                    url="http://me:{{ .Params.PIN }}@db/{{ .Params.ADMIN_PASSWORD }}",
                ),
            )
        },
    )
    for name in ("own", "web"):
        done = await world.kudo(
            *("install", str(tmp_path / "shop"), "--instance", name, "--wait", "--wait-time=90"),
            *("-p", f"PIN={PIN}", "-p", f"ADMIN_PASSWORD={PASSWORD}"),
        )
        assert done.code == 0, done.output
    return world


async def collect(
    world: World, target: Path, *more: str, user: Literal["admin", "user"] = "admin"
) -> Done:
    kubeconfig = world.installation.cluster.kubeconfig(user)
    return await world.kudo(
        *("diagnostics", "collect", "-O", str(target), f"--kubeconfig={kubeconfig}"), *more
    )


def texts(folder: Path) -> dict[str, str]:
    """Return all files by their path."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            found[path.relative_to(folder).as_posix()] = content.decode()
    return found


async def test_what_belongs_to_an_instance_is_collected_without_secrets(
    shop: World, roles: list[str], tmp_path: Path
) -> None:
    """BTO-56, BTO-59."""
    done = await collect(shop, tmp_path / "diag", "--instance", "web")
    assert done.code == 0, done.output

    found = texts(tmp_path / "diag")
    folder = "operator_shop/instance_web"
    assert {
        *("SUMMARY.txt", "version.yaml", "settings.yaml", "operator_shop/shop.yaml"),
        *("operator_shop/operatorversion_shop-0.1.0/shop-0.1.0.yaml", f"{folder}/web.yaml"),
        *(f"{folder}/{kind}list.yaml" for kind in ("secret", "configmap", "deployment")),
        *(f"{folder}/{kind}list.yaml" for kind in ("replicaset", "clusterrole", "event")),
        *("kudo/crds.yaml", "kudo/cluster.yaml", "kudo/webhooks.yaml"),
        "operator_shop/operator_db/operatorversion_db-0.1.0/db-0.1.0.yaml",
    } <= found.keys()
    assert [path for path in found if path.startswith(f"{folder}/pod_web-")]
    children = [path for path in found if path.startswith("operator_shop/operator_db/instance_")]
    assert any(path.endswith("/configmaplist.yaml") for path in children)

    listed = yaml.safe_load(found[f"{folder}/clusterrolelist.yaml"])["items"]
    assert [role["metadata"]["name"] for role in listed] == roles[:1]
    assert "own-config" not in "".join(found.values())

    everything = json.dumps(found) + done.output
    for value in (PIN, PASSWORD):
        assert value not in everything
        assert base64.b64encode(value.encode()).decode().rstrip("=") not in everything
    assert "size: big" in everything
    assert found["SUMMARY.txt"] == done.stdout


async def test_a_user_with_few_rights_gets_what_they_may_read(shop: World, tmp_path: Path) -> None:
    """BTO-57: what cannot be read ends nothing."""
    done = await collect(shop, tmp_path / "diag", "--instance", "web", user="user")
    assert done.code == 0, done.output
    found = texts(tmp_path / "diag")
    assert "operator_shop/instance_web/web.yaml" in found
    for path in ("operator_shop/instance_web/secretlist.err", "kudo/mutatingwebhooks.err"):
        assert "forbidden" in found[path]
        assert path in done.stdout
    # The Secret cannot be read, and what is in it is known from the parameters nevertheless.
    assert PIN not in json.dumps(found)


async def test_without_the_operatorversion_the_rest_is_collected_as_an_archive(
    shop: World, tmp_path: Path
) -> None:
    """BTO-57."""
    await shop.client.delete(VERSIONS, "shop-0.1.0", namespace=shop.namespace)
    done = await collect(shop, tmp_path / "all.tgz", "--all")
    assert done.code == 0, done.output
    assert "instance web: its OperatorVersion shop-0.1.0 was not found" in done.stdout
    with tarfile.open(tmp_path / "all.tgz") as archive:
        names = set(archive.getnames())
    assert {
        "all/operator_shop/operatorversion.err",
        *(f"all/operator_shop/instance_{name}/deploymentlist.yaml" for name in ("web", "own")),
    } <= names
