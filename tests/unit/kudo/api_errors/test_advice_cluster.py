"""What to do in the cluster about a refusal. The texts are Kubernetes 1.36's."""

import pytest

from kudo.api_errors.advice import advice

Refused = tuple[str, int, str]

ALL_RIGHTS = (
    "or all that a plan needs (get, list, watch, create, patch, delete), with a ClusterRole that "
    'has the label rbac.kudo.dev/aggregate-to-reconciler: "true"; the plan then continues'
)


def forbidden(kind: str, message: str) -> Refused:
    return kind, 403, message


CASES: dict[str, tuple[Refused, str]] = {
    "a missing namespace": (
        ("ConfigMap", 404, 'namespaces "nope" not found'),
        "namespace nope must exist first",
    ),
    "a name with a slash": (
        ("ConfigMap", 404, "the server could not find the requested resource"),
        "ConfigMap is not served, or no longer, or metadata.name contains a slash",
    ),
    "a missing right": (
        forbidden(
            "Deployment",
            'deployments.apps "z" is forbidden: User "kudo-reconciler" cannot create resource '
            '"deployments" in API group "apps" in the namespace "default"',
        ),
        f"grant KUDO's reconciler permission to create deployments.apps, {ALL_RIGHTS}",
    ),
    "a missing right of the core group": (
        forbidden(
            "ConfigMap",
            'configmaps "z" is forbidden: User "kudo-user" cannot patch resource "configmaps" in '
            'API group "" in the namespace "default"',
        ),
        f"grant KUDO's reconciler permission to patch configmaps, {ALL_RIGHTS}",
    ),
    "rights that are granted": (
        forbidden(
            "Role",
            'roles.rbac.authorization.k8s.io "esc2" is forbidden: user "joe" (groups='
            '["system:authenticated"]) is attempting to grant RBAC permissions not currently held:'
            '\n{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
        ),
        "KUDO's reconciler can grant only permissions that it has: grant it these first",
    ),
    "a quota": (
        forbidden(
            "ConfigMap",
            'configmaps "qb" is forbidden: exceeded quota: few, requested: configmaps=1, used: '
            "configmaps=2, limited: configmaps=2",
        ),
        "raise ResourceQuota few or delete objects that it counts; the plan then continues",
    ),
    "a quota that asks for values": (
        forbidden(
            "Pod",
            'pods "po" is forbidden: failed quota: few: must specify requests.cpu for: main',
        ),
        "ResourceQuota few requires these values: set them in the template",
    ),
    "a limit": (
        forbidden(
            "Pod", 'pods "po" is forbidden: maximum cpu usage per Container is 1, but limit is 2'
        ),
        "change the value in the template, or the LimitRange of the namespace",
    ),
    "pod security": (
        forbidden(
            "Pod",
            'pods "po" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != '
            'true (pod or container "main" must set securityContext.runAsNonRoot=true)',
        ),
        (
            "change the securityContext in the template, or the label "
            "pod-security.kubernetes.io/enforce of the namespace"
        ),
    ),
    "a missing service account": (
        forbidden(
            "Pod",
            'pods "posa" is forbidden: error looking up service account default/nope: '
            'serviceaccount "nope" not found',
        ),
        "ServiceAccount nope must exist first: apply it in an earlier step",
    ),
    "a missing priority": (
        forbidden("Pod", 'pods "p" is forbidden: no PriorityClass with name nope was found'),
        "PriorityClass nope must exist first: apply it in an earlier step",
    ),
    "a missing runtime": (
        forbidden("Pod", 'pods "p" is forbidden: pod rejected: RuntimeClass "nope" not found'),
        "RuntimeClass nope must exist first: apply it in an earlier step",
    ),
    "a webhook that is away": (
        (
            "ConfigMap",
            500,
            (
                'Internal error occurred: failed calling webhook "wh.example.org": failed to call '
                'webhook: Post "https://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: refused'
            ),
        ),
        "the plan continues as soon as webhook wh.example.org answers",
    ),
    "managedFields": (
        ("ConfigMap", 400, "metadata.managedFields must be nil"),
        "remove metadata.managedFields from the template",
    ),
}


def test_the_advice_says_what_the_cluster_lacks(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            refused, expected = CASES[case]

            assert advice(*refused, causes=[]) == expected
