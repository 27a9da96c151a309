"""Every object of the main sets of values is one that a real API server accepts."""

from collections.abc import Iterator

import pytest
import yaml

from tests.chart.objects import of_set, pods
from tests.chart.value_sets import VALUE_SETS
from tests.support.cluster.site import Site
from tests.support.gomodules import CERT_MANAGER, PROMETHEUS_OPERATOR, module_folder
from tools.chart.helm import NAMESPACE

_RESTRICTED = "chart-restricted"
_LEVEL = "pod-security.kubernetes.io"
_MONITORING = ("servicemonitors", "prometheusrules")


@pytest.fixture(scope="module")
def prepared(running_site: Site) -> Iterator[Site]:
    """Yield a cluster with the CRDs of others and a namespace that takes hardened pods alone."""
    running_site.kubectl("create", "namespace", _RESTRICTED)
    running_site.kubectl(
        "label", "namespace", _RESTRICTED, NAMESPACE, f"{_LEVEL}/enforce=restricted",
        f"{_LEVEL}/warn=restricted",
    )  # fmt: skip
    for namespace in ("streams", "search"):
        running_site.kubectl("create", "namespace", namespace)
    # A pod is refused where its account is missing, also by a dry run.
    running_site.kubectl("create", "serviceaccount", "kudo-test", f"--namespace={NAMESPACE}")
    crds = [
        *(module_folder(CERT_MANAGER) / "deploy" / "crds").glob("*.yaml"),
        *(
            module_folder(PROMETHEUS_OPERATOR)
            / "example"
            / "prometheus-operator-crd"
            / f"monitoring.coreos.com_{name}.yaml"
            for name in _MONITORING
        ),
    ]
    files = [f"--filename={path}" for path in crds]
    running_site.kubectl("apply", "--server-side", *files)
    running_site.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crds", "--all")
    yield running_site
    running_site.kubectl("delete", "--wait=false", *files)
    running_site.clean()


@pytest.mark.parametrize("name", VALUE_SETS)
def test_the_api_server_accepts_every_object_without_a_warning(prepared: Site, name: str) -> None:
    said = prepared.apply(*of_set(name), options=("--dry-run=server",))

    assert said.count("serverside-applied") == len(of_set(name))
    assert "warning" not in said.lower()


@pytest.mark.parametrize("name", VALUE_SETS)
def test_a_namespace_that_enforces_the_restricted_profile_accepts_every_pod(
    prepared: Site, name: str
) -> None:
    found = pods(of_set(name))
    objects = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{owner}-x", "namespace": _RESTRICTED},
            "spec": {**spec, "serviceAccountName": "default"},
        }
        for owner, spec in found
    ]

    said = prepared.kubectl(
        "create", "--dry-run=server", "--filename=-", text=yaml.safe_dump_all(objects)
    )

    assert said.count("created (server dry run)") == len(found)
