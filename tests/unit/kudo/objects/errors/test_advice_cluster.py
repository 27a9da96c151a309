"""What to do in the cluster about a refusal. The texts are Kubernetes 1.36's."""

import pytest

from kudo.objects.api_errors import advice

Refused = tuple[str, int, str]

ALL_RIGHTS = (
    "or all that a plan needs (get, list, watch, create, patch, delete), with a ClusterRole that "
    'has the label rbac.kudo.dev/aggregate-to-reconciler: "true"; the plan then continues'
)


def forbidden(kind: str, message: str) -> Refused:
    return kind, 403, message


CASES: dict[str, tuple[Refused, str]] = {
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
    "a webhook behind a Service": (
        (
            "ConfigMap",
            500,
            (
                'Internal error occurred: failed calling webhook "wh.example.org": failed to call '
                'webhook: Post "https://judge.court.svc:443/x?timeout=5s": no endpoints available '
                'for service "judge"'
            ),
        ),
        (
            "the plan continues as soon as webhook wh.example.org answers: see its pods behind "
            "Service court/judge"
        ),
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
        "the plan continues as soon as webhook wh.example.org answers: see its pods",
    ),
}

WITHOUT: tuple[Refused, ...] = (
    ("ConfigMap", 404, 'namespaces "nope" not found'),
    forbidden(
        "Pod", 'pods "po" is forbidden: maximum cpu usage per Container is 1, but limit is 2'
    ),
    forbidden("Pod", 'pods "p" is forbidden: no PriorityClass with name nope was found'),
)


def test_the_advice_says_what_the_cluster_lacks(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            refused, expected = CASES[case]

            assert advice(*refused, causes=[]) == expected


def test_where_the_server_says_what_the_cluster_lacks_there_is_no_advice() -> None:
    assert [advice(*refused, causes=[]) for refused in WITHOUT] == ["", "", ""]
