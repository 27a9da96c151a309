"""The three identities may do what they need, and nothing beyond."""

import dataclasses
import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from kudo_cluster import Cluster
from kudo_cluster.control_plane.identities import Role
from tests.support.cluster.kubectl import Kubectl

pytestmark = pytest.mark.smoke

_SECONDS, _POLL = 30.0, 0.1

_KUDO = ("operators.kudo.dev", "operatorversions.kudo.dev", "instances.kudo.dev")
_INVENTORIES = "inventories.kudo.dev"
_READ = ("get", "list", "watch")
_WRITE = ("create", "update", "patch", "delete")
_WORKLOADS = (
    "pods",
    "services",
    "configmaps",
    "secrets",
    "serviceaccounts",
    "persistentvolumeclaims",
    "endpoints",
    "deployments.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "replicasets.apps",
    "jobs.batch",
    "cronjobs.batch",
    "poddisruptionbudgets.policy",
    "ingresses.networking.k8s.io",
    "networkpolicies.networking.k8s.io",
    "horizontalpodautoscalers.autoscaling",
)
_CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_RIGHTS = (
    "clusterroles.rbac.authorization.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
)
_ROLES = ("roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io")

Right = tuple[str, str]


def _each(verbs: tuple[str, ...], resources: tuple[str, ...]) -> set[Right]:
    return {(verb, resource) for verb in verbs for resource in resources}


_EVERYTHING = (
    _each(
        (*_READ, *_WRITE),
        (
            *_KUDO,
            _INVENTORIES,
            "instances.kudo.dev/status",
            "instances.kudo.dev/finalizers",
            *_WORKLOADS,
            "events",
            "events.events.k8s.io",
            "leases.coordination.k8s.io",
            "namespaces",
            "nodes",
            "pods/exec",
            "serviceaccounts/token",
            _CRDS,
            *_RIGHTS,
            *_ROLES,
        ),
    )
    | _each(("impersonate",), ("users", "groups"))
    | _each(("bind", "escalate"), (*_RIGHTS[:1], *_ROLES[:1]))
)

_ALLOWED: dict[Role, set[Right]] = {
    "user": _each((*_READ, *_WRITE), _KUDO)
    | _each(_READ, (_INVENTORIES,))
    | {("get", "instances.kudo.dev/status"), ("get", _CRDS)}
    | _each((*_READ, "create", "delete"), ("namespaces",))
    | _each(
        _READ,
        (
            "pods",
            "services",
            "configmaps",
            "serviceaccounts",
            "persistentvolumeclaims",
            "endpoints",
            "deployments.apps",
            "statefulsets.apps",
            "daemonsets.apps",
            "replicasets.apps",
            "jobs.batch",
            "cronjobs.batch",
            "events",
            "events.events.k8s.io",
        ),
    ),
    "webhook": _each(_READ, ("operatorversions.kudo.dev",)),
    "reconciler": _each(_READ, _KUDO)
    | _each(("create", "patch", "delete"), ("instances.kudo.dev",))
    | {("update", "instances.kudo.dev/status"), ("update", "instances.kudo.dev/finalizers")}
    | _each((*_READ, *_WRITE), (*_WORKLOADS, *_ROLES))
    | _each((*_READ, "create", "update"), (_INVENTORIES,))
    | _each(("get", "create"), ("pods/exec",))
    | {("create", "events")}
    | _each(("get",), ("namespaces", _CRDS)),
}


def _review(right: Right) -> dict[str, Any]:
    verb, target = right
    kind, _, subresource = target.partition("/")
    resource, _, group = kind.partition(".")
    attributes = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


def _allowed(kubectl: Kubectl, rights: Iterable[Right]) -> set[Right]:
    """Ask for all of them in one go; "kubectl auth can-i" asks the same question one at a time."""
    asked = sorted(rights)
    documents = {"apiVersion": "v1", "kind": "List", "items": [_review(r) for r in asked]}
    output = r'--output=jsonpath={.status.allowed}{"\n"}'
    answers = kubectl("create", "--filename=-", output, stdin=json.dumps(documents)).split()
    return {r for r, answer in zip(asked, answers, strict=True) if answer == "true"}


@pytest.fixture(scope="module")
def kubectl(cluster: Cluster) -> Kubectl:
    """Return kubectl as the admin: these tests only ask, so none needs a namespace of its own."""
    return Kubectl(cluster, cluster.directory / "kubectl-cache")


@pytest.fixture(scope="module")
def own_rights(kubectl: Kubectl) -> Iterator[None]:
    """Take away what other tests have granted to the identities for the life of the cluster."""
    bindings = json.loads(kubectl("get", "clusterrolebindings", "--output=json"))["items"]
    granted = [binding for binding in bindings if _grants(binding)]
    names = [binding["metadata"]["name"] for binding in granted]
    if names:
        kubectl("delete", "clusterrolebindings", *names)
    yield
    for name, binding in zip(names, granted, strict=True):
        kubectl.apply({**binding, "metadata": {"name": name}})


def _grants(binding: dict[str, Any]) -> bool:
    """Whether a binding that is none of the cluster's own is for one of the identities."""
    users = {subject["name"] for subject in binding.get("subjects", [])}
    own = binding["metadata"]["name"].startswith("kudo-")
    return not own and not users.isdisjoint(f"kudo-{role}" for role in _ALLOWED)


@pytest.mark.usefixtures("own_rights")
@pytest.mark.parametrize("role", list(_ALLOWED))
def test_an_identity_has_its_rights_and_no_others(kubectl: Kubectl, role: Role) -> None:
    identity, expected = dataclasses.replace(kubectl, role=role), sorted(_ALLOWED[role])
    deadline = time.monotonic() + _SECONDS
    # The API server learns of a deleted binding from its watch.
    while (found := sorted(_allowed(identity, _EVERYTHING))) != expected:
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL)
    assert found == expected


# Only kinds that every cluster has: for others kubectl asks about a group-less resource.
@pytest.mark.parametrize(
    ("role", "question", "answer"),
    [
        ("admin", ("delete", "nodes"), "yes"),
        ("user", ("create", "namespaces"), "yes"),
        ("user", ("list", "deployments.apps"), "yes"),
        ("user", ("create", "deployments.apps"), "no"),
        ("user", ("get", "secrets"), "no"),
        ("webhook", ("get", "configmaps"), "no"),
        ("reconciler", ("create", "secrets"), "yes"),
        ("reconciler", ("create", "pods", "--subresource=exec"), "yes"),
        ("user", ("create", "pods", "--subresource=exec"), "no"),
        ("reconciler", ("create", "clusterrolebindings.rbac.authorization.k8s.io"), "no"),
    ],
)
def test_kubectl_gives_the_same_answers(
    kubectl: Kubectl, role: Role, question: tuple[str, ...], answer: str
) -> None:
    asking = dataclasses.replace(kubectl, role=role)
    assert asking.run("auth", "can-i", *question).stdout.strip() == answer


@pytest.mark.parametrize("role", ["user", "webhook", "reconciler"])
def test_the_server_knows_an_identity_by_its_name_and_without_groups(
    kubectl: Kubectl, role: Role
) -> None:
    answer = dataclasses.replace(kubectl, role=role)("auth", "whoami", "--output=json")
    user = json.loads(answer)["status"]["userInfo"]
    assert (user["username"], user["groups"]) == (f"kudo-{role}", ["system:authenticated"])
