"""What goes wrong in clusters, as objects of the small API server, and what is told of it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.unit.cli.conftest import VERSION
from tests.unit.cli.fake_api import FakeApi, status
from tests.unit.cli.inventories import entry, owned, record

JsonObject = dict[str, Any]
_LONG = 25 * 60 + 30
"""Seconds; half a minute more or less is told as 25m."""
Incident = Callable[[FakeApi, JsonObject], None]


def install_kudo(api: FakeApi) -> None:
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
    replica_set = api.add("replicasets", controlled("tea-1", deployment))
    api.add("pods", controlled("tea-1-a", replica_set, spec={}, status=pod))


def controlled(name: str, owner: JsonObject, **more: Any) -> JsonObject:
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
    api.add("pods", controlled("boil-a", job, spec={}, status=pod))


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
BRIEF = "tea: plan deploy waits for 25m at main.app\n"
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
