"""What to do about rights that an account lacks, and about the right to impersonate one."""

from kudo.objects.api_errors import advice

RECONCILER = "system:serviceaccount:kudo-system:kudo-reconciler"
BOB = "system:serviceaccount:t1:bob"
GRANTS = (
    'roles.rbac.authorization.k8s.io "r" is forbidden: user "system:serviceaccount:t1:bob" '
    '(groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:'
)
BLOCKS = (
    'configmaps "c" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a '
    "resource you can't set finalizers on: , <nil>"
)
LET = (
    "let KUDO's reconciler act as the accounts of namespace {0}: apply what `kubectl kudo rbac "
    "--namespace {0}` prints, or add the namespace to tenancy.namespaces of the chart; the plan "
    "then continues"
)


def refused(user: str) -> str:
    return (
        f'deployments.apps "d" is forbidden: User "{user}" cannot patch resource "deployments" in '
        'API group "apps" in the namespace "t1"'
    )


def given(what: str) -> str:
    return (
        f"give ServiceAccount bob {what}: `kubectl kudo rbac --instance NAME -n t1` prints all "
        "that the plans need; the plan then continues"
    )


def test_an_account_gets_its_rights_from_its_namespace() -> None:
    table: list[tuple[str, str]] = [
        (refused(BOB), given("permission to patch deployments.apps")),
        (GRANTS, given("the permissions that it is to grant")),
        (BLOCKS, given("permission to update instances.kudo.dev/finalizers")),
    ]
    for text, says in table:
        assert advice("", 403, text, (), account=BOB) == says


def test_the_reconciler_gets_its_rights_from_the_chart_also_where_it_is_a_service_account() -> None:
    text = advice("Deployment", 403, refused(RECONCILER), ())
    assert text.startswith("grant KUDO's reconciler permission to patch deployments.apps")


def test_another_user_in_the_text_of_a_webhook_is_not_the_account() -> None:
    assert "ServiceAccount" not in advice(
        "", 403, refused("system:serviceaccount:x:y"), (), account=BOB
    )


IMPERSONATION = (
    (
        f'User "{RECONCILER}" cannot impersonate resource "serviceaccounts" in API group "" '
        'in the namespace "x"'
    ),
    (
        f'serviceaccounts.authentication.k8s.io "bob2" is forbidden: User "{RECONCILER}" '
        'cannot impersonate:serviceaccount resource "serviceaccounts" in API group '
        '"authentication.k8s.io" in the namespace "x"'
    ),
    (
        f'configmaps is forbidden: User "{RECONCILER}" cannot '
        'impersonate-on:serviceaccount:list resource "configmaps" in API group "" in the '
        'namespace "x"'
    ),
)


def test_the_right_to_impersonate_is_bound_in_the_namespace() -> None:
    for text in IMPERSONATION:
        assert advice("", 403, text, (), account=BOB) == LET.format("x")


def test_a_reconciler_outside_of_the_cluster_is_bound_as_the_user_that_it_is() -> None:
    text = IMPERSONATION[0].replace(RECONCILER, "kudo-reconciler")
    assert advice("", 403, text, (), account=BOB) == (
        "let KUDO's reconciler act as the accounts of namespace x: apply what `kubectl kudo rbac "
        "--namespace x` prints, with User kudo-reconciler as its subject; the plan then continues"
    )


def test_the_right_to_act_on_cluster_scoped_objects_is_bound_in_the_cluster() -> None:
    text = (
        f'priorityclasses.scheduling.k8s.io is forbidden: User "{RECONCILER}" cannot '
        'impersonate-on:serviceaccount:list resource "priorityclasses" in API group '
        '"scheduling.k8s.io" at the cluster scope'
    )
    assert "tenancy.clusterScopedKinds" in advice("", 403, text, (), account=BOB)
