"""What the reconciler may not do is tried again until it may."""

from kubeio.client import Client
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.world import World

CONFIG = build.template(build.config_map("{{ .Name }}-config", a="b"))


def faulty(one: Json, text: str = CONFIG, **templates: str) -> Json:
    """Return a version whose plan is the one task."""
    return build.operator_version(
        "faulty-1",
        templates={"t.yaml": text, **templates},
        tasks=[{**one, "name": "task"}],
        plans={"deploy": build.plan({"step": ["task"]})},
    )


APPLY = build.task("task", "Apply", "t.yaml")


# What is tried again


async def test_what_is_forbidden_is_tried_again_and_said_until_it_is_allowed(
    world: World, admin: Client
) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "{{ .Name }}-quota"},
        "spec": {"hard": {"count/secrets": "100"}},
    }
    await world.apply(faulty(APPLY, build.template(quota)), build.instance("i", "faulty-1"))

    text = "A transient error when executing task deploy.phase1.step.task. Will retry. "
    waiting = await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the refusal"
    )
    assert "is forbidden" in instances.messages(waiting, "deploy")
    assert instances.steps(waiting, "deploy") == {"phase1.step": "ERROR"}
    assert not instances.idle(waiting)
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{world.namespace}"
    name = {"name": "kudo-may"}
    rule = {
        "apiGroups": [""],
        "resources": ["resourcequotas"],
        "verbs": ["get", "list", "watch", "create", "patch"],
    }
    await admin.raw("POST", f"{roles}/roles", body={"metadata": name, "rules": [rule]})
    subject = {"kind": "User", "name": "kudo-reconciler"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "kudo-may"}
    binding = {"metadata": name, "subjects": [subject], "roleRef": reference}
    await admin.raw("POST", f"{roles}/rolebindings", body=binding)

    done = await world.until_complete("i")

    assert not instances.messages(done, "deploy")
