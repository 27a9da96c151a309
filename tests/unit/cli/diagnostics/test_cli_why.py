"""`why` and the first line of `plan status` on a terminal, for what goes wrong in clusters."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubectl_kudo.__main__ import main
from kubectl_kudo.core.blocks import Mark
from kubectl_kudo.core.errors import ExitCode
from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi, status
from tests.unit.cli.inventories import entry, owned, record

JsonObject = dict[str, Any]
Shown = Callable[..., str]
_LONG = 25 * 60 + 30
"""Seconds; half a minute more or less is told as 25m."""
Incident = Callable[[FakeApi, JsonObject], None]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(kudo: Cli, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Return a function that runs a command line on a terminal of 80 columns."""
    del kudo  # it has set where the server is

    def run(*argv: str) -> str:
        screen = _Terminal()
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", "80")
            patch.setenv("LINES", "25")
            patch.setenv("NO_COLOR", "1")
            patch.setattr("sys.stdout", screen)
            main(argv)
        return screen.getvalue()

    return run


@pytest.fixture
def tea(installed: FakeApi) -> JsonObject:
    """Return the Instance; KUDO works, and plan `deploy` waits for Deployment `tea`."""
    _install_kudo(installed)
    installed.unavailable = {"tea"}
    instance = installed.objects["instances", "tea"]
    instance["spec"]["planExecution"] = {"planName": "deploy", "uid": "run"}
    waits(instance, 'deployment "tea" is not healthy: 0 of 1 updated replicas are available...')
    return instance


def _install_kudo(api: FakeApi) -> None:
    labels = {"app.kubernetes.io/part-of": "kudo"}
    ready = {"readyReplicas": 1}
    api.add("namespaces", {"metadata": {"name": "kudo-system"}})
    for name in ("kudo-webhook", "kudo-reconciler"):
        metadata = {"name": name, "namespace": "kudo-system", "labels": labels}
        api.add("deployments", {"metadata": metadata, "spec": {"replicas": 1}, "status": ready})
    hook = {"clientConfig": {"caBundle": "x", "service": {"namespace": "kudo-system"}}}
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        api.add(plural, {"metadata": {"name": "kudo-instance-admission"}, "webhooks": [hook]})
    named = {"kubernetes.io/service-name": "kudo-webhook", **labels}
    metadata = {"name": "kudo-webhook-1", "namespace": "kudo-system", "labels": named}
    api.add(
        "endpointslices", {"metadata": metadata, "endpoints": [{"conditions": {"ready": True}}]}
    )
    spec = {"holderIdentity": "one", "renewTime": ago(0), "leaseDurationSeconds": 15}
    api.add(
        "leases",
        {"metadata": {"name": "kudo-reconciler", "namespace": "kudo-system"}, "spec": spec},
    )


def ago(seconds: int) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def waits(instance: JsonObject, message: str, state: str = "IN_PROGRESS") -> None:
    status("IN_PROGRESS" if state == "ERROR" else state, step=state, message=message)(instance)
    run = instance["status"]["planStatus"]["deploy"]
    run |= {"startedAt": ago(_LONG), "lastUpdatedTimestamp": ago(_LONG)}


def workload(api: FakeApi, **pod: Any) -> None:
    """Add Deployment `tea`, its ReplicaSet and a pod with a status."""
    deployment = api.add(
        "deployments", owned(api, "tea", spec={"replicas": 1}, status={"readyReplicas": 0})
    )
    replica_set = api.add("replicasets", _controlled("tea-1", deployment))
    api.add("pods", _controlled("tea-1-a", replica_set, spec={}, status=pod))


def _controlled(name: str, owner: JsonObject, **more: Any) -> JsonObject:
    reference = {"kind": owner["kind"], "uid": owner["metadata"]["uid"], "controller": True}
    return {"metadata": {"name": name, "ownerReferences": [reference]}, **more}


def container(**state: Any) -> list[JsonObject]:
    return [{"name": "brew", "image": "brew:9", "ready": False, "restartCount": 0, **state}]


def warn(api: FakeApi, kind: str, name: str, reason: str, message: str) -> None:
    about = {"kind": kind, "name": name}
    event = {"type": "Warning", "reason": reason, "message": message, "involvedObject": about}
    api.add("events", {"metadata": {"name": f"{name}.{reason}"}, **event})


def hang(api: FakeApi, _: JsonObject) -> None:
    workload(api, phase="Running", containerStatuses=container(state={"running": {"a": "b"}}))
    warn(api, "Pod", "tea-1-a", "Unhealthy", "Readiness probe failed: statuscode: 503")


def pull(api: FakeApi, _: JsonObject) -> None:
    waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "brew:9"'}
    workload(api, phase="Pending", containerStatuses=container(state={"waiting": waiting}))


def crash(api: FakeApi, _: JsonObject, reason: str = "Error", code: int = 3) -> None:
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}
    ended = {"terminated": {"reason": reason, "exitCode": code}}
    state = {"state": {"waiting": waiting}, "lastState": ended, "restartCount": 7}
    workload(api, phase="Running", containerStatuses=container(**state))


def run_out_of_memory(api: FakeApi, instance: JsonObject) -> None:
    crash(api, instance, "OOMKilled", 137)


def fail_job(api: FakeApi, instance: JsonObject) -> None:
    waits(instance, 'job "boil" has failed: BackoffLimitExceeded', "FATAL_ERROR")
    why = {"reason": "BackoffLimitExceeded", "message": "Job has reached its backoff limit"}
    failed = {"type": "Failed", "status": "True", **why}
    api.unavailable.add("boil")
    job = api.add("jobs", owned(api, "boil", spec={}))
    api.objects["jobs", "boil"]["status"] = {"conditions": [failed]}
    ended = {"terminated": {"reason": "Error", "exitCode": 2}}
    pod = {"phase": "Failed", "containerStatuses": container(state=ended)}
    api.add("pods", _controlled("boil-a", job, spec={}, status=pod))


def exceed_quota(api: FakeApi, instance: JsonObject) -> None:
    waits(instance, 'statefulset "tea" is not healthy: 0 of 1 pods are ready')
    api.add("statefulsets", owned(api, "tea", spec={"replicas": 1}, status={}))
    warn(api, "StatefulSet", "tea", "FailedCreate", "create Pod tea-0 failed: exceeded quota: q")


def lack_right(_: FakeApi, instance: JsonObject) -> None:
    denied = (
        "A transient error when executing task deploy.main.app.pot. Will retry. deployments.apps "
        '"tea" is forbidden: User "system:serviceaccount:kitchen:default" cannot patch resource'
    )
    waits(instance, denied, "ERROR")


def stop_webhook(api: FakeApi, instance: JsonObject) -> None:
    settle(instance)
    api.objects["endpointslices", "kudo-webhook-1"]["endpoints"] = []


def remove_webhook(api: FakeApi, instance: JsonObject) -> None:
    settle(instance)
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        api.remove(plural, "kudo-instance-admission")


def suspend(_: FakeApi, instance: JsonObject) -> None:
    instance["spec"]["suspend"] = True


def stop_reconciler(api: FakeApi, instance: JsonObject) -> None:
    instance["spec"]["planExecution"] = {"planName": "deploy", "uid": "new"}
    fields: JsonObject = {"f:spec": {"f:planExecution": {"f:uid": {}}}}
    instance["metadata"]["managedFields"] = [{"time": ago(_LONG), "fieldsV1": fields}]
    lease = api.objects["leases", "kudo-reconciler"]
    lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}


def delete_object(api: FakeApi, instance: JsonObject) -> None:
    settle(instance)
    record(api, entry("ConfigMap", "pot"))


def set_bad_value(_: FakeApi, instance: JsonObject) -> None:
    text = 'parameter CUPS: "many" is not an integer'
    settle(instance)
    instance["status"]["conditions"] = [
        {"type": kind, "status": value, "reason": "ParameterInvalid", "message": text}
        for kind, value in (("Ready", "False"), ("Stalled", "True"))
    ]
    instance["status"]["conditions"][0]["lastTransitionTime"] = ago(_LONG)


def refuse_value(_: FakeApi, instance: JsonObject) -> None:
    refused = "failed to create typed patch object (kitchen/tea; apps/v1, Kind=Deployment): "
    refused += ".spec.replicas: expected numeric (int or float), got string"
    waits(instance, refused, "FATAL_ERROR")


def remove_version(api: FakeApi, instance: JsonObject) -> None:
    instance["spec"]["planExecution"] = {"planName": "deploy", "uid": "new"}
    api.remove("operatorversions", VERSION)


def hold_instance(_: FakeApi, instance: JsonObject) -> None:
    settle(instance)
    instance["metadata"] |= {"deletionTimestamp": ago(_LONG), "finalizers": ["example.com/hold"]}


def hold_unrecorded_object(_: FakeApi, instance: JsonObject) -> None:
    held = "held by example.com/hold (the controller of example.com)"
    waits(instance, f"ConfigMap kitchen/pot is not deleted yet, {held}")


def hold_object(api: FakeApi, instance: JsonObject) -> None:
    waits(instance, "ConfigMap kitchen/pot is being deleted")
    record(api, entry("ConfigMap", "pot"))
    pot = owned(api, "pot")
    pot["metadata"] |= {"deletionTimestamp": ago(_LONG), "finalizers": ["example.com/hold"]}
    api.add("configmaps", pot)


def settle(instance: JsonObject) -> None:
    status("COMPLETE", done=True)(instance)
    ready = {"type": "Ready", "status": "True", "reason": "ResourcesReady", "message": ""}
    instance["status"]["conditions"] = [ready]


WAITS = 'tea: plan deploy waits for 25m at main.app: deployment "tea" is not healthy: 0\n'
WAITS += "  of 1 updated replicas are available...\n"
FORBIDDEN = """\
tea: plan deploy waits for 25m at main.app: deployments.apps "tea" is forbidden:
  User "system:serviceaccount:kitchen:default" cannot patch resource
"""
INVALID = """\
tea: not ready for 25m: ParameterInvalid: parameter CUPS: "many" is not an
  integer
"""
_BRIEF = "tea: plan deploy waits for 25m at main.app\n"
INCIDENTS: dict[Incident, tuple[str, str]] = {
    hang: (
        WAITS,
        """\
Cause: pod tea-1-a: container brew runs and is not ready: its readiness probe
  fails: Unhealthy: Readiness probe failed: statuscode: 503
Run: kubectl describe pod tea-1-a -n kitchen
Also:
  deployment tea: 0 of 1 pods are ready
""",
    ),
    pull: (
        WAITS,
        """\
Cause: pod tea-1-a: container brew waits: ImagePullBackOff: Back-off pulling
  image "brew:9"
Next: check the name and tag of the image, and the pod's imagePullSecrets
Run: kubectl describe pod tea-1-a -n kitchen
Also:
  deployment tea: 0 of 1 pods are ready
""",
    ),
    crash: (
        WAITS,
        """\
Cause: pod tea-1-a: container brew waits: CrashLoopBackOff: back-off 5m0s; it
  ended with Error (3) the last time
Next: see its log
Run: kubectl logs tea-1-a -n kitchen -c brew --previous
Also:
  deployment tea: 0 of 1 pods are ready
""",
    ),
    run_out_of_memory: (
        WAITS,
        """\
Cause: pod tea-1-a: container brew waits: CrashLoopBackOff: back-off 5m0s; it
  ended with OOMKilled (137) the last time
Next: raise its memory limit
Run: kubectl describe pod tea-1-a -n kitchen
Also:
  deployment tea: 0 of 1 pods are ready
""",
    ),
    fail_job: (
        """\
tea: plan deploy failed 25m ago at main.app: job "boil" has failed:
  BackoffLimitExceeded
""",
        """\
Cause: pod boil-a: container brew ended with Error (2)
Next: see its log
Run: kubectl logs boil-a -n kitchen -c brew
Also:
  job boil: has failed: BackoffLimitExceeded: Job has reached its backoff limit
""",
    ),
    exceed_quota: (
        """\
tea: plan deploy waits for 25m at main.app: statefulset "tea" is not healthy: 0
  of 1 pods are ready
""",
        """\
Cause: statefulset tea: 0 of 1 pods are ready: FailedCreate: create Pod tea-0
  failed: exceeded quota: q
Next: raise the quota, or lower what is asked for
Run: kubectl describe quota -n kitchen
""",
    ),
    lack_right: (
        FORBIDDEN,
        """\
Cause: step main.app: deployments.apps "tea" is forbidden: User
  "system:serviceaccount:kitchen:default" cannot patch resource
Next: give the account the rights that it lacks
Run: kubectl kudo rbac --instance tea -n kitchen --check
""",
    ),
    stop_webhook: (
        "tea: Ready (ResourcesReady)\n",
        """\
Cause: service kudo-webhook: has no ready endpoint
Next: every change of an Instance is refused until a pod of the webhook is
  ready: see its pods
Run: kubectl get pods -n kudo-system
""",
    ),
    remove_webhook: (
        "tea: Ready (ResourcesReady)\n",
        """\
Cause: the webhook: no webhook configuration was found: changes are checked by
  the reconciler alone
Next: restart the webhook, which registers itself, or restore the configuration
Run: kubectl kudo init --upgrade
""",
    ),
    suspend: (
        """\
tea: suspended; the reconciler has not seen it yet (kubectl kudo resume
  --instance tea -n kitchen); plan deploy waits
""",
        """\
Cause: instance tea: it is suspended, so plan deploy does not go on
Next: resume it
Run: kubectl kudo resume --instance tea -n kitchen
""",
    ),
    stop_reconciler: (
        "tea: plan deploy scheduled 25m ago and not begun: no reconciler holds the Lease\n",
        """\
Cause: lease kudo-reconciler: is held by nobody: no reconciler leads, so no plan
  runs
Next: see its pods
Run: kubectl get pods -n kudo-system
""",
    ),
    delete_object: (
        "tea: Ready (ResourcesReady)\n",
        """\
Cause: configmap pot: does not exist; plan deploy has applied it
Next: run the plan again, which creates it
Run: kubectl kudo plan trigger --instance tea -n kitchen --name deploy
""",
    ),
    set_bad_value: (
        INVALID,
        """\
Cause: instance tea: stalled: ParameterInvalid: parameter CUPS: "many" is not an
  integer
Next: correct it
Run: kubectl kudo update --instance tea -n kitchen -p NAME=VALUE
""",
    ),
    refuse_value: (
        """\
tea: plan deploy failed 25m ago at main.app: failed to create typed patch object
  (kitchen/tea; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int
  or float), got string
""",
        """\
Cause: step main.app: failed to create typed patch object (kitchen/tea; apps/v1,
  Kind=Deployment): .spec.replicas: expected numeric (int or float), got string
Next: correct the value, or the template
Run: kubectl kudo update --instance tea -n kitchen -p NAME=VALUE
""",
    ),
    remove_version: (
        """\
tea: plan deploy scheduled and not begun: its OperatorVersion teapot-2.1.0-0.3.0
  was not found
""",
        """\
Cause: instance tea: its OperatorVersion teapot-2.1.0-0.3.0 was not found
Next: no plan can run: install that version of the operator again
Run: kubectl kudo install PACKAGE --skip-instance -n kitchen
""",
    ),
    hold_instance: (
        """\
tea: being deleted for 25m: held by finalizer example.com/hold (the controller
  of example.com)
""",
        """\
Cause: instance tea: it is being deleted and still exists; finalizers:
  example.com/hold (the controller of example.com)
Next: see whether the controller runs that has to remove example.com/hold, and
  who changed the object
Run: kubectl get instances.kudo.dev tea -n kitchen -o yaml --show-managed-fields
""",
    ),
    hold_unrecorded_object: (
        """\
tea: plan deploy waits for 25m at main.app: ConfigMap kitchen/pot is not deleted
  yet, held by example.com/hold (the controller of example.com)
""",
        """\
Cause: step main.app: ConfigMap kitchen/pot is not deleted yet, held by
  example.com/hold (the controller of example.com)
Next: see whether the controller runs that has to remove example.com/hold, and
  who changed the object
Run: kubectl get configmap pot -n kitchen -o yaml --show-managed-fields
""",
    ),
    hold_object: (
        """\
tea: plan deploy waits for 25m at main.app: ConfigMap kitchen/pot is being
  deleted
""",
        """\
Cause: configmap pot: is being deleted and still exists; finalizers:
  example.com/hold (the controller of example.com)
Next: see whether the controller runs that has to remove example.com/hold, and
  who changed the object
Run: kubectl get configmap pot -n kitchen -o yaml --show-managed-fields
""",
    ),
}
"""What happens; how the Instance is then, and the cause that `why` names."""


def _words(text: str) -> list[str]:
    """Return the words of a text, however it is wrapped, without the sign before it."""
    return text.lstrip("".join(mark.value for mark in Mark)).split()


ALL = pytest.mark.parametrize("incident", INCIDENTS, ids=lambda incident: incident.__name__)


@ALL
def test_the_cause_stands_first(
    shown: Shown, installed: FakeApi, tea: JsonObject, incident: Incident
) -> None:
    incident(installed, tea)
    summary, cause = INCIDENTS[incident]
    # The message of a step stands below.
    line = summary
    if cause.startswith("Cause: step main.app: "):
        line = f"{summary.partition(' at main.app')[0]} at main.app\n"
    assert _words(shown("why", "tea")) == _words(line + cause)


@ALL
def test_plan_status_begins_with_how_the_instance_is(
    kudo: Cli, shown: Shown, installed: FakeApi, tea: JsonObject, incident: Incident
) -> None:
    incident(installed, tea)
    summary = INCIDENTS[incident][0]
    advice = "" if "Ready (" in summary else "See why: kubectl kudo why tea -n kitchen\n"
    tree = kudo("plan", "status", "--instance", "tea").out
    assert tree.startswith("Plan(s)") or incident is remove_version
    head, _, drawn = shown("plan", "status", "--instance", "tea").partition("\n\n")
    assert _words(head) == _words(summary + advice)
    assert drawn.split("\n")[0] == tree.split("\n")[0]


def test_nothing_is_wrong(shown: Shown, tea: JsonObject) -> None:
    settle(tea)
    assert shown("why", "--instance", "tea") == (
        "✓ tea: Ready (ResourcesReady)\nNothing looks wrong.\n"
    )
    assert shown("why") == "All instances in namespace kitchen are ready (1).\n"
    assert shown("why", "-n", "default") == "No instances in namespace default.\n"


def test_a_pod_that_another_one_has_replaced_is_not_the_cause(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    hang(installed, tea)
    replica_set = installed.objects["replicasets", "tea-1"]
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}
    installed.add("pods", _controlled("tea-1-0", replica_set, spec={}, status=evicted))
    out = kudo("why", "tea").out
    assert "Cause: pod tea-1-a: " in out
    assert "\n  pod tea-1-0: has failed: Evicted: low on memory\n" in out


def test_an_object_that_the_plan_does_not_wait_for_is_told_last(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    waits(tea, 'job "boil" still running')
    record(installed, entry("ConfigMap", "pot"), entry("Deployment", "tea"))
    out = kudo("why", "tea").out
    cause, _, rest = out.partition("Also:\n")
    assert cause.startswith(f'{_BRIEF}Cause: step main.app: job "boil" still running')
    assert rest.splitlines() == [
        f"  {kind}: does not exist; plan deploy has applied it"
        for kind in ("configmap pot", "deployment tea")
    ]
    waits(tea, 'deployment "tea" is not healthy: not found')
    assert "Cause: deployment tea: does not exist; plan deploy" in kudo("why", "tea").out


def test_an_operator_that_is_missing_is_told_last(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    hang(installed, tea)
    installed.remove("operators", "teapot")
    out = kudo("why", "tea").out
    assert "Cause: pod tea-1-a: " in out
    assert out.endswith(f"  operatorversion {VERSION}: its Operator was not found\n")


def test_what_is_wrong_with_kudo_is_told_first_if_no_plan_runs(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    pull(installed, tea)
    stop_reconciler(installed, tea)
    installed.objects["deployments", "kudo-reconciler"]["status"] = {}
    lines = kudo("why", "tea").out.splitlines()
    assert lines[1].startswith("Cause: lease kudo-reconciler: is held by nobody")
    also = lines[lines.index("Also:") + 1 :]
    assert also[0] == "  deployment kudo-reconciler: 0 of 1 pods are ready"
    assert also[1].startswith("  pod tea-1-a: container brew waits: ImagePullBackOff")


def test_a_failed_pod_of_a_job_that_has_succeeded_is_nothing_wrong(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    fail_job(installed, tea)
    settle(tea)
    complete = {"conditions": [{"type": "Complete", "status": "True"}]}
    installed.objects["jobs", "boil"]["status"] = complete
    assert kudo("why", "tea").out == "tea: Ready (ResourcesReady)\nNothing looks wrong.\n"


def test_what_a_pod_needs_and_nobody_has_made_is_the_cause(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    hang(installed, tea)
    sources = [{"secretRef": {"name": "absent"}}, {"secretRef": {"name": "there"}}]
    pod = installed.objects["pods", "tea-1-a"]
    pod["spec"] = {"containers": [{"name": "brew", "envFrom": sources}]}
    installed.add("secrets", {"metadata": {"name": "there"}, "data": {"a": "c2VjcmV0"}})
    out = kudo("why", "tea").out
    assert "Cause: pod tea-1-a: needs Secret absent, which does not exist\n" in out
    assert "there" not in out


def test_warnings_of_a_ready_instance_are_not_told(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    warn(installed, "Instance", "tea", "PipePodReplaced", "pod p was evicted")
    settle(tea)
    assert "PipePodReplaced" not in kudo("why", "tea").out
    tea["status"] = {}
    tea["spec"]["planExecution"] = {}
    out = kudo("why", "tea").out
    assert "Cause: instance tea: event PipePodReplaced: pod p was evicted\n" in out


def test_without_a_name_all_are_told_of_that_are_not_ready(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    pull(installed, tea)
    version = {"operatorVersion": {"name": VERSION}}
    for name in ("cocoa", "milk"):
        installed.add("instances", {"metadata": {"name": name}, "spec": version})
    settle(installed.objects["instances", "cocoa"])
    ran = kudo("why")
    assert [line for line in ran.out.splitlines() if line[:1].islower()] == [
        "milk: no plan has run yet",
        WAITS.replace("\n ", "").rstrip(),
    ]
    assert ran.code == 0


def test_the_cause_may_be_with_a_child(kudo: Cli, installed: FakeApi, tea: JsonObject) -> None:
    waits(tea, "instance kitchen/tea-pot: plan deploy is not COMPLETE")
    child = owned(installed, "tea-pot", spec={"operatorVersion": {"name": VERSION}})
    child = installed.add("instances", child)
    waits(child, 'statefulset "pot" is not healthy')
    installed.unavailable = {"pot"}
    installed.add("statefulsets", _controlled("pot", child, spec={"replicas": 1}))
    out = kudo("why").out
    assert out.count("Cause: ") == 1
    assert "Cause: statefulset pot: 0 of 1 pods are ready\n" in out


def test_what_may_not_be_read_is_told_in_one_line(
    kudo: Cli, installed: FakeApi, tea: JsonObject
) -> None:
    settle(tea)
    for plural in ("pods", "operatorversions", "leases", "mutatingwebhookconfigurations"):
        installed.refusals["GET", plural] = (403, f"{plural} is forbidden: no rights")
    ran = kudo("why", "tea")
    assert ran.code == 0
    *said, last = ran.out.splitlines()
    assert said == ["tea: Ready (ResourcesReady)", "Nothing looks wrong.", ""]
    names = last.removeprefix("Not read: ").partition(":")[0].split(", ")
    assert sorted(names) == [
        "leases of KUDO", "mutatingwebhooks of KUDO", "operatorversion", "pods", "pods of KUDO"
    ]  # fmt: skip
    assert last.endswith("is forbidden: no rights")


def test_what_is_told_for_programs(kudo: Cli, installed: FakeApi, tea: JsonObject) -> None:
    crash(installed, tea)
    found = json.loads(kudo("why", "tea", "-o", "json").out)
    (one,) = found["instances"]
    assert one["findings"][0] == {
        "object": "pod tea-1-a",
        "text": "container brew waits: CrashLoopBackOff: back-off 5m0s; it ended with Error (3) "
        "the last time",
        "advice": "see its log",
        "command": "kubectl logs tea-1-a -n kitchen -c brew --previous",
    }
    assert found["unread"] == found["leftOut"] == []
    assert kudo("why", "tea", "-o", "yaml").out.startswith("instances:\n- findings:\n")


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["milk"], ExitCode.NOT_FOUND, "instance milk in namespace kitchen does not exist"),
        (["tea", "milk"], ExitCode.USAGE, "why takes one instance, not tea and milk"),
        (["tea", "-o", "purple"], ExitCode.USAGE, "invalid output format"),
    ],
)
def test_only_what_cannot_be_asked_is_an_error(
    kudo: Cli, tea: JsonObject, argv: list[str], code: ExitCode, said: str
) -> None:
    del tea
    ran = kudo("why", *argv)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_who_may_read_no_instances_is_told_so(kudo: Cli, installed: FakeApi) -> None:
    installed.refusals["LIST", "instances"] = (403, "instances is forbidden: no rights")
    ran = kudo("why")
    assert (ran.code, ran.err) == (ExitCode.DENIED, "Error: instances is forbidden: no rights\n")


def test_a_failing_wait_names_why(kudo: Cli, installed: FakeApi, tea: JsonObject) -> None:
    fail_job(installed, tea)
    ran = kudo("plan", "wait", "--instance", "tea")
    assert ran.code == ExitCode.PLAN_FAILED
    assert ran.err.endswith("\nSee why: kubectl kudo why tea -n kitchen\n")
