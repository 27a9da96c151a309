"""Which rights plans need, by kind of task and by kind of object."""

import json
from collections.abc import Mapping, Sequence

import pytest

from kudo.api import Instance, OperatorVersion
from kudo.permissions.model import Kind, Rights, Rule, Served
from kudo.permissions.needs import needs_of
from kudo.permissions.rights import rights_of
from kudo.tasks.kudo_operator import VersionKey
from tests.support import build
from tests.support.build import Json

RBAC = "rbac.authorization.k8s.io"
APPLY, TOGGLE = "create get patch", "create delete get patch"
FINALIZERS = ("kudo.dev", "instances/finalizers", "update", "web")
Row = tuple[str, str, str, str]
"""Group, resource, verbs and names."""


def version(
    templates: Mapping[str, str], tasks: Sequence[Json], name: str = "op-1", **parameters: str
) -> OperatorVersion:
    """Return a version whose plans `deploy` and `cleanup` have all tasks."""
    steps = {f"s{number}": [task["name"]] for number, task in enumerate(tasks)}
    wire = build.operator_version(
        name,
        templates=templates,
        plans={"deploy": build.plan(steps), "cleanup": build.plan(steps)},
        tasks=tasks,
        parameters=[build.parameter(*item) for item in parameters.items()],
    )
    wire["metadata"]["namespace"] = "ns"
    return OperatorVersion.from_wire(wire)


def instance(**parameters: str) -> Instance:
    wire = build.instance("web", "op-1", **parameters)
    wire["metadata"]["namespace"] = "ns"
    return Instance.from_wire(wire)


def rights(
    of: OperatorVersion,
    served: Mapping[Kind, Served] | None = None,
    others: Mapping[VersionKey, OperatorVersion] | None = None,
    **parameters: str,
) -> Rights:
    needs = needs_of(of, instance(**parameters), (others or {}).get)
    return rights_of(needs, served or {})


def rows(rules: Sequence[Rule]) -> set[Row]:
    return {
        (" ".join(r.groups), " ".join(r.resources), " ".join(r.verbs), " ".join(r.names))
        for r in rules
    }


def obj(api_version: str, kind: str, **fields: object) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}


def of_task(kind: str, *objects: Json, **spec: object) -> Rights:
    found = build.template(*objects)
    task = build.task("t", kind, "a.yaml", **spec)
    return rights(version({"a.yaml": found}, [task], on="true"))


SERVICE, CLASS = obj("v1", "Service"), obj("scheduling.k8s.io/v1", "PriorityClass")
OWN = {**CLASS, "metadata": {"name": "x", "annotations": {"kudo.dev/delete-with-instance": "true"}}}
CRD = obj("apiextensions.k8s.io/v1", "CustomResourceDefinition")
OWN_CRD = {**CRD, "metadata": OWN["metadata"]}


def test_a_task_needs_what_it_sends_for_namespaced_objects(subtests: pytest.Subtests) -> None:
    for task, verbs in [("Apply", APPLY), ("Delete", "delete get"), ("Toggle", TOGGLE)]:
        with subtests.test(task=task, verbs=verbs):
            found = of_task(task, SERVICE, parameter="on")
            assert rows(found.namespaced) - {FINALIZERS} == {("", "services", verbs, "")}
            assert (FINALIZERS in rows(found.namespaced)) == (task != "Delete")
            assert (found.cluster, found.notes) == ((), ())


def test_a_task_needs_more_for_cluster_scoped_objects(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, Json, str]] = [
        ("Apply", CLASS, "create get list patch"),
        ("Apply", OWN, "create delete get list patch"),
        ("Delete", CLASS, "delete get patch"),
        ("Toggle", CLASS, "create delete get list patch"),
    ]
    for task, sent, verbs in table:
        with subtests.test(task=task, sent=sent, verbs=verbs):
            found = of_task(task, sent, parameter="on")
            assert rows(found.cluster) == {("scheduling.k8s.io", "priorityclasses", verbs, "")}


def test_nobody_needs_rights_on_inventories(subtests: pytest.Subtests) -> None:
    for task in ["Apply", "Delete", "Toggle"]:
        with subtests.test(task=task):
            found = of_task(task, obj("kudo.dev/v1beta1", "Inventory"), parameter="on")

            assert rows(found.namespaced) <= {FINALIZERS}
            [note] = found.notes
            assert "only KUDO writes Inventories" in note


def test_inventories_that_are_not_rendered_need_no_rights() -> None:
    text = "{{ if .Params.on }}\napiVersion: kudo.dev/v1beta1\nkind: Inventory\n{{ end }}"
    found = rights(version({"a.yaml": text}, [build.task("t", "Apply", "a.yaml")], on=""))

    assert rows(found.namespaced) == {FINALIZERS}


def test_a_kind_that_is_never_deleted_with_an_instance_needs_no_delete() -> None:
    found = of_task("Apply", OWN_CRD)
    row = ("apiextensions.k8s.io", "customresourcedefinitions", "create get list patch", "")
    assert rows(found.cluster) == {row}


def pruning(*objects: Json, of_version: bool | None = True, own: bool | None = None) -> Rights:
    found = version({"a.yaml": build.template(*objects)}, [build.task("t", "Apply", "a.yaml")])
    spec = found.spec.model_copy(update={"prune": of_version})
    one = instance()
    one = one.model_copy(update={"spec": one.spec.model_copy(update={"prune": own})})
    needs = needs_of(found.model_copy(update={"spec": spec}), one, lambda _: None)
    return rights_of(needs, {})


def annotated(one: Json, **annotations: str) -> Json:
    found = {f"kudo.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {**one, "metadata": {**one["metadata"], "annotations": found}}


CLAIM = obj("v1", "PersistentVolumeClaim")


def test_pruning_needs_the_deletion_of_what_it_may_delete() -> None:
    table: list[tuple[Json, str, str]] = [
        (SERVICE, "services", TOGGLE),
        (CLAIM, "persistentvolumeclaims", APPLY),
        (annotated(CLAIM, prune="true"), "persistentvolumeclaims", TOGGLE),
        (annotated(SERVICE, deletion_policy="retain"), "services", APPLY),
    ]
    for sent, resource, verbs in table:
        assert rows(pruning(sent).namespaced) - {FINALIZERS} == {("", resource, verbs, "")}


def test_pruning_needs_more_for_cluster_scoped_objects() -> None:
    row = ("scheduling.k8s.io", "priorityclasses", "create delete get list patch", "")
    assert rows(pruning(CLASS).cluster) == {row}


def test_the_instance_says_whether_it_is_pruned(subtests: pytest.Subtests) -> None:
    for of_version, own, verbs in [(True, False, APPLY), (None, True, TOGGLE)]:
        with subtests.test(of_version=of_version, own=own, verbs=verbs):
            found = pruning(SERVICE, of_version=of_version, own=own)
            assert ("", "services", verbs, "") in rows(found.namespaced)


def test_rights_of_all_plans_and_tasks_are_joined() -> None:
    tasks = [build.task("up", "Apply", "a.yaml"), build.task("down", "Delete", "a.yaml")]
    found = rights(version({"a.yaml": build.template(SERVICE)}, tasks))
    rule = next(rule for rule in found.namespaced if rule.resources == ("services",))
    assert rule.verbs == ("create", "delete", "get", "patch")
    assert rule.sources == ("op: task up, template a.yaml", "op: task down, template a.yaml")


def test_what_pods_use_is_read_by_name_unless_the_task_applies_it() -> None:
    pod = build.deployment("web")
    pod["spec"]["template"]["spec"]["volumes"] = [
        {"name": "a", "configMap": {"name": "own"}},
        {"name": "b", "secret": {"secretName": "password"}},
    ]
    found = of_task("Apply", pod, build.config_map("own"))
    assert rows(found.namespaced) == {
        ("apps", "deployments", APPLY, ""),
        ("", "configmaps", APPLY, ""),
        ("", "secrets", "get", "password"),
        ("", "pods", "get", ""),
        ("apps", "replicasets", "get", ""),
        FINALIZERS,
    }


def test_a_pipe_task_needs_its_pod_the_exec_and_its_artifacts() -> None:
    pod = obj("v1", "Pod", spec={"volumes": [], "initContainers": []})
    files = [{"file": "/a", "kind": "Secret", "key": "k"}, {"file": "/b", "kind": "ConfigMap"}]
    task = build.task("t", "Pipe", pod="pod.yaml", pipe=files)
    found = rights(version({"pod.yaml": json.dumps(pod)}, [task]))
    assert rows(found.namespaced) == {
        ("", "pods", TOGGLE, ""),
        ("", "pods/exec", "create get", ""),
        ("", "secrets", APPLY, ""),
        ("", "configmaps", APPLY, ""),
        FINALIZERS,
    }


def test_a_job_task_needs_to_create_and_delete_jobs_and_to_look_at_their_pods() -> None:
    task = build.task("t", "Job", job={"image": "a", "command": ["a"]})
    found = rights(version({}, [task]))
    assert rows(found.namespaced) == {
        ("batch", "jobs", "create delete get list", ""),
        ("", "pods", "get list", ""),
        FINALIZERS,
    }
    assert (found.cluster, found.notes) == ((), ())


def test_children_need_their_rights_of_the_same_account() -> None:
    task = build.task("child", "KudoOperator", package="db", operatorVersion="2", parameterFile="p")
    below = version(
        {"a.yaml": '{{ if eq .Params.size "big" }}' + build.template(SERVICE) + "{{ end }}"},
        [build.task("t", "Apply", "a.yaml")],
        "db-2",
        size="small",
    )
    found = rights(version({"p": "size: big"}, [task]), others={("ns", "db-2"): below})
    assert rows(found.namespaced) == {
        ("kudo.dev", "instances", APPLY, ""),
        ("", "services", APPLY, ""),
        ("kudo.dev", "instances/finalizers", "update", "web-db"),
    }


def test_a_child_without_version_and_a_circle_are_no_end() -> None:
    task = build.task("child", "KudoOperator", package="op", operatorVersion="1")
    missing = rights(version({}, [task]))
    assert ["does not exist" in note for note in missing.notes] == [True]
    same = version({}, [task])
    assert rights(same, others={("ns", "op-1"): same}).notes != missing.notes


def test_kinds_behind_a_false_condition_are_found_in_the_text() -> None:
    text = (
        '{{ if eq .Params.on "yes" }}\napiVersion: policy/v1\nkind: PodDisruptionBudget\n'
        "metadata: {name: x}\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n"
        "    kind: Deployment\n{{ end }}\n---\n" + json.dumps(SERVICE)
    )
    task = build.task("t", "Apply", "a.yaml")
    found = rights(version({"a.yaml": text}, [task], on="no"))
    assert {row[:3] for row in rows(found.namespaced)} == {
        ("policy", "poddisruptionbudgets", APPLY),
        ("", "services", APPLY),
        FINALIZERS[:3],
    }


def test_kinds_of_a_list_are_found_in_the_text() -> None:
    text = (
        '{{ if eq .Params.on "yes" }}\napiVersion: v1\nkind: List\nitems:\n'
        "- apiVersion: batch/v1\n  kind: CronJob\n- apiVersion: v1\n  kind: Secret\n{{ end }}\n"
    )
    found = rights(version({"a.yaml": text}, [build.task("t", "Apply", "a.yaml")], on="no"))
    assert {row[1] for row in rows(found.namespaced)} == {
        "cronjobs", "secrets", "instances/finalizers",
    }  # fmt: skip
    assert any("what its pods use" in note for note in found.notes)


def test_what_cannot_be_rendered_is_noted() -> None:
    text = 'apiVersion: v1\nkind: Secret\nmetadata: {name: {{ fail "no" }}}'
    found = rights(version({"a.yaml": text}, [build.task("t", "Apply", "a.yaml")]))
    assert ("", "secrets", APPLY, "") in rows(found.namespaced)
    assert ["cannot be rendered" in note for note in found.notes] == [True]


def test_a_computed_kind_is_noted() -> None:
    text = "apiVersion: v1\nkind: {{ .Params.kind }}\nmetadata: {name: x}"
    task = build.task("t", "Apply", "a.yaml")
    found = rights(version({"a.yaml": text}, [task], kind="Service"))
    assert ("", "services", APPLY, "") in rows(found.namespaced)
    assert [note for note in found.notes if "computes a kind" in note and "Service of v1" in note]


RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["p"]}
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
URL = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}


def test_the_rules_of_roles_are_needed() -> None:
    found = of_task("Apply", obj(f"{RBAC}/v1", "Role", rules=[RULE]))
    assert rows(found.namespaced) == {
        (RBAC, "roles", APPLY, ""), ("", "pods", "get", "p"), FINALIZERS,
    }  # fmt: skip
    assert found.notes == ()


def test_the_rules_of_cluster_roles_are_needed_and_wildcards_are_noted() -> None:
    found = of_task("Apply", obj(f"{RBAC}/v1", "ClusterRole", rules=[EVERYTHING, URL]))
    assert rows(found.cluster) == {
        (RBAC, "clusterroles", "create get list patch", ""),
        ("*", "*", "*", ""),
        ("", "", "get", ""),
    }
    assert [rule.urls for rule in found.cluster if rule.urls] == [("/metrics",)]
    assert ["a rule with *" in note for note in found.notes] == [True]


def test_a_binding_needs_bind_on_its_role(subtests: pytest.Subtests) -> None:
    table = [
        ("RoleBinding", "Role", "roles"),
        ("RoleBinding", "ClusterRole", "clusterroles"),
        ("ClusterRoleBinding", "ClusterRole", "clusterroles"),
    ]
    for binding, role, plural in table:
        with subtests.test(binding=binding, role=role, plural=plural):
            reference = {"apiGroup": RBAC, "kind": role, "name": "edit"}
            found = of_task("Apply", obj(f"{RBAC}/v1", binding, roleRef=reference))
            where = found.namespaced if binding == "RoleBinding" else found.cluster
            assert (RBAC, plural, "bind", "edit") in rows(where)


def test_deleting_a_role_needs_no_rules_of_it() -> None:
    found = of_task("Delete", obj(f"{RBAC}/v1", "Role", rules=[EVERYTHING]))
    assert (rows(found.namespaced), found.notes) == ({(RBAC, "roles", "delete get", "")}, ())


@pytest.mark.parametrize(
    "fields",
    [
        {"rules": "all"},
        {"rules": [{"verbs": "get"}]},
        {"rules": [{"verbs": ["get"], "resources": [1]}]},
        {"rules": [{"verbs": ["x" * 1000]}]},
        {"rules": [RULE] * 1000},
        {"aggregationRule": {"clusterRoleSelectors": []}},
    ],
)
def test_rules_that_cannot_be_read_are_noted(fields: Json) -> None:
    found = of_task("Apply", obj(f"{RBAC}/v1", "ClusterRole", **fields))
    assert rows(found.cluster) == {(RBAC, "clusterroles", "create get list patch", "")}
    assert len(found.notes) == 1


def test_kinds_come_from_the_cluster_the_packages_crds_or_a_guess() -> None:
    names = {"kind": "Goose", "plural": "geese"}
    crd = {**CRD, "spec": {"group": "farm.io", "names": names, "scope": "Cluster"}}
    asked, goose, other = (obj("farm.io/v1", kind) for kind in ("Ox", "Goose", "Policy"))
    task = build.task("t", "Apply", "a.yaml")
    found = rights(
        version({"a.yaml": build.template(crd, asked, goose, other)}, [task]),
        {Kind("farm.io/v1", "Ox"): Served("farm.io", "oxen", namespaced=True)},
    )
    assert ("farm.io", "oxen", APPLY, "") in rows(found.namespaced)
    assert ("farm.io", "geese", "create get list patch", "") in rows(found.cluster)
    assert ("farm.io", "policies", APPLY, "") in rows(found.namespaced)
    assert ["is a guess" in note for note in found.notes] == [True]


def test_a_removed_version_counts_as_the_one_that_it_is_applied_as() -> None:
    found = of_task("Apply", obj("extensions/v1beta1", "Ingress"))
    assert ("networking.k8s.io", "ingresses", APPLY, "") in rows(found.namespaced)


def test_a_hostile_kind_is_noted_in_one_short_line_and_gets_no_rule(
    subtests: pytest.Subtests,
) -> None:
    for kind in ["A" * 1_000_000, "Service\n# rules:", "\x1b[31mService", "a/b", "é"]:
        with subtests.test(kind=kind):
            found = of_task("Apply", obj("v1", kind))
            assert rows(found.namespaced) == {FINALIZERS}
            assert len(found.notes) == 1
            assert all(note.isprintable() and len(note) < 400 for note in found.notes)


def test_thousands_of_kinds_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kudo.permissions.model._MOST_NEEDS", 50)
    text = (
        "{{ range $i, $_ := until 60 }}\n---\n"
        "apiVersion: a.b/v1\nkind: K{{ $i }}\nmetadata: {name: x}\n{{ end }}"
    )
    of = version({"a.yaml": text}, [build.task("t", "Apply", "a.yaml")])
    needs = needs_of(of, instance(), lambda _: None)
    assert len(needs.needs) == 50
    assert "more than 50 needs: not all are in this list" in needs.notes


def test_rendering_ends_when_it_has_taken_too_long() -> None:
    of = version({"a.yaml": build.template(SERVICE)}, [build.task("t", "Apply", "a.yaml")])
    needs = needs_of(of, instance(), lambda _: None, expired=lambda: True)
    assert list(needs.notes) == ["not all templates were rendered, since that would take too long"]


@pytest.mark.parametrize(
    ("api_version", "kind", "resource"),
    [
        ("apps/v1", "StatefulSet", ("apps", "statefulsets")),
        ("{{ .Params.GROUP }}/v1", "{{ .Params.KIND }}", ("apps", "deployments")),
    ],
)
def test_a_check_needs_to_get_one_object_or_to_list_several(
    api_version: str, kind: str, resource: tuple[str, str]
) -> None:
    fields = {"apiVersion": api_version, "kind": kind, "until": "true"}
    for which, verb in (({"name": "{{ .Name }}"}, "get"), ({"selector": {"app": "a"}}, "list")):
        task = build.task("t", "Check", check={**fields, **which})
        found = rights(version({}, [task], GROUP="apps", KIND="Deployment"))
        # Nothing else: it makes no objects that the Instance owns.
        assert rows(found.namespaced) == {(*resource, verb, "")}
        assert found.cluster == ()
        computed = "{{" in kind
        assert ["computes check." in note for note in found.notes] == [True] * (2 * computed)
    nodes = build.task(
        "t", "Check", check={**fields, "kind": "Node", "apiVersion": "v1", "name": "n"}
    )
    assert rows(rights(version({}, [nodes])).cluster) == {("", "nodes", "get", "")}


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"apiVersion": "{{ .Params.NONE }}"}, "cannot be rendered: "),
        ({"kind": "no kind\nat all"}, "no kind at all of v1 is no kind of an object"),
        ({"kind": "{{ fail `here` }}"}, "cannot be rendered: "),
    ],
)
def test_a_check_of_a_kind_that_is_not_known_is_noted(fields: Json, note: str) -> None:
    check = {"apiVersion": "v1", "kind": "Pod", "name": "p", "until": "true", **fields}
    found = rights(version({}, [build.task("t", "Check", check=check)]))
    assert found.namespaced == ()
    assert [note in one and one.isprintable() for one in found.notes] == [True]


def test_of_outputs_it_is_told_which_rights_follow_from_them() -> None:
    dump = build.task("dump", "Job", job={"image": "i", "command": ["x"], "outputs": ["name"]})
    name = "{{ .Outputs.dump.name }}"
    pod = {"volumes": [{"name": "v", "secret": {"secretName": name}}], "containers": []}
    granted = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "verbs": ["get"],
        "resourceNames": [name],
    }
    objects = (
        {**obj("v1", "ConfigMap"), "data": {"x": name}},
        obj("apps/v1", "Deployment", spec={"template": {"spec": pod}}),
        obj(f"{RBAC}/v1", "Role", rules=[granted]),
    )
    found = rights(
        version({"a.yaml": build.template(*objects)}, [dump, build.task("t", "Apply", "a.yaml")])
    )
    assert ("", "configmaps", APPLY, "") in rows(found.namespaced)
    assert not any("<" in name for _, _, _, name in rows(found.namespaced))
    source = "op: task t, template a.yaml"
    why = (
        "follows from outputs of a task or parameters of a run: a run alone has them, so the right"
    )
    why = f"{why} is not in this list"
    assert {note for note in found.notes if "outputs" in note} == {
        f"{source}: which Secret its pods use {why}",
        f"{source}: what it grants {why}",
    }
