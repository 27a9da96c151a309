"""The client CA with a real API server that presents a certificate, as in docs/installing.md."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import KubeError
from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.programs.binaries import ASSETS_VARIABLE, obtain
from tests.integration.conftest import ROOT
from tests.support import build
from tests.support.client_ca import Authority
from tests.support.cluster.clients import new_namespace
from tests.support.cluster.resources import INSTANCES, VERSIONS
from tests.support.cluster.waiting import wait_until


@dataclass
class Presenting:
    """A cluster whose API server presents a certificate to webhooks."""

    installation: Installation
    clients: Path
    authority: Authority


@pytest.fixture(scope="module")
def presenting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Presenting]:
    directory = tmp_path_factory.mktemp("presenting")
    authority = Authority.make("kudo-webhook-clients")
    authority.client(directory)
    clients = directory / "ca.crt"
    clients.write_bytes(authority.pem)
    programs = _programs(directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ASSETS_VARIABLE, str(programs))
        own = Cluster.start(name="presenting")
    options = {"webhook": [f"--client-ca={clients}", "--tls-poll=0.1"]}
    with own, Installation.start(own, crds=ROOT / "crds", options=options) as installation:
        yield Presenting(installation, clients, authority)


def _programs(directory: Path) -> Path:
    """Return the programs of a cluster, with an API server that is told of the certificate."""
    programs = directory / "bin"
    programs.mkdir()
    paths = dict(obtain().paths)
    real = paths.pop("kube-apiserver")
    for name, path in paths.items():
        (programs / name).symlink_to(path)
    wrapper = programs / "kube-apiserver"
    configuration = f"--admission-control-config-file={_configuration(directory)}"
    wrapper.write_text(f"#!/bin/sh\nexec '{real}' \"$@\" '{configuration}'\n")
    wrapper.chmod(0o755)
    return programs


def _configuration(directory: Path) -> Path:
    pem = str(directory / "client of kudo-webhook-clients.pem")
    user = {"client-certificate": pem, "client-key": pem}
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}
    (directory / "clients.yaml").write_text(yaml.safe_dump(kubeconfig))
    group = "apiserver.config.k8s.io/v1"
    webhooks = {
        "apiVersion": group,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(directory / "clients.yaml"),
    }
    names = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    plugins = [{"name": name, "configuration": webhooks} for name in names]
    document = {"apiVersion": group, "kind": "AdmissionConfiguration", "plugins": plugins}
    (directory / "admission.yaml").write_text(yaml.safe_dump(document))
    return directory / "admission.yaml"


@pytest.fixture
async def client(presenting: Presenting) -> AsyncIterator[Client]:
    cluster = presenting.installation.cluster
    async with Client(load_config(cluster.kubeconfig("admin"))) as client:
        yield client


async def test_the_api_server_is_answered_and_told_why_if_it_is_not(
    presenting: Presenting, client: Client
) -> None:
    namespace = await new_namespace(client)
    version = build.operator_version(
        "op-1",
        templates={"c.yaml": build.template(build.config_map("c"))},
        plans={"deploy": build.plan({"c": ["c"]})},
    )
    await client.create(VERSIONS, version, namespace=namespace)
    made = await client.create(INSTANCES, build.instance("i", "op-1"), namespace=namespace)
    assert made["spec"]["planExecution"]["uid"]

    presenting.clients.write_bytes(Authority.make("another").pem)
    webhook = presenting.installation.webhook
    webhook.stop()
    webhook.start()

    async def told_why() -> bool:
        with pytest.raises(KubeError, match="failed calling webhook") as refused:
            await client.create(INSTANCES, build.instance("j", "op-1"), namespace=namespace)
        return "tls: unknown certificate authority" in str(refused.value)

    # With TLS 1.3 the refusal races with the request, which may find the connection closed first.
    await wait_until(told_why, lambda: "the API server to be told why")
