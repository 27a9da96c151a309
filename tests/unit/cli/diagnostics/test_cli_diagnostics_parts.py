"""The parts of `diagnostics collect` that need no server."""

import base64
import gzip
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_kudo.diagnostics import findings, installation_findings
from kubectl_kudo.diagnostics.bundle import LogFile, file_name
from kubectl_kudo.diagnostics.collect_files import summary
from kubectl_kudo.diagnostics.families import Member
from kubectl_kudo.diagnostics.finding import Finding
from kubectl_kudo.diagnostics.installation import Installation
from kubectl_kudo.diagnostics.installation_findings import expiries
from kubectl_kudo.diagnostics.logs import LONGEST_LINE, blocks_of, lines_of, logs_of
from kubectl_kudo.diagnostics.owned import OwnedObject, owned_by, references
from kubectl_kudo.diagnostics.reading import Failure
from kubeio.resource import CONFIG_MAPS, PODS, REPLICA_SETS

JsonObject = dict[str, Any]
NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
NEW = (NOW - timedelta(seconds=30)).isoformat()
OLD = (NOW - timedelta(hours=3)).isoformat()


# Files


@settings(max_examples=30)
@given(st.text(max_size=300))
def test_any_text_becomes_the_name_of_a_file(text: str) -> None:
    name = file_name(text)
    assert name not in {"", ".", ".."}
    assert "/" not in name
    assert len(name.encode()) <= 201


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=50), st.integers(2, 200))
def test_a_log_keeps_its_end(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], limit: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "a.log.gz"
    log = LogFile(path, limit=limit)
    for line in lines:
        log.write(line)
    log.close()
    whole = b"".join(lines)
    assert [found.name for found in path.parent.iterdir()] == (["a.log.gz"] if whole else [])
    if not whole:
        return
    text = gzip.decompress(path.read_bytes())
    if text == whole:
        return
    note, _, kept = text.partition(b"\n")
    assert note == b"[%d bytes before this are left out]" % (len(whole) - len(kept))
    assert whole.endswith(kept)
    longest = max(map(len, lines))
    assert limit // 2 - longest < len(kept) <= limit + 2 * longest


async def chunks_of(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@given(st.lists(st.binary(max_size=20)))
async def test_lines_do_not_depend_on_the_chunks(chunks: list[bytes]) -> None:
    lines = [line async for line in lines_of(chunks_of(*chunks))]
    whole = b"".join(chunks).decode("utf-8", "replace").split("\n")
    assert lines == (whole if whole[-1] else whole[:-1])


@given(st.lists(st.binary(max_size=20)))
async def test_blocks_are_the_lines(chunks: list[bytes]) -> None:
    blocks = [block async for block in blocks_of(chunks_of(*chunks), overlap=5)]
    lines = [line async for line in lines_of(chunks_of(*chunks))]
    assert [line for block in blocks for line in block.split("\n")] == lines


async def test_a_line_that_is_cut_ends_before_a_value_that_the_cut_would_part() -> None:
    line = b"x" * (LONGEST_LINE - 5) + b"hunter2hunter2" + b"y" * 100
    (block,) = [block async for block in blocks_of(chunks_of(line), overlap=14)]
    assert block == "x" * (LONGEST_LINE - 14) + "... (the rest of the line is left out)"


async def test_of_an_endless_line_little_is_in_memory() -> None:
    endless = chunks_of(*[b"x" * 50_000] * 20, b"\nlast")
    lines = [line async for line in lines_of(endless)]
    assert [len(line) for line in lines] == [2 * LONGEST_LINE, 4]


# Objects


def found(name: str, *owners: str, instance: str = "") -> OwnedObject:
    return OwnedObject(CONFIG_MAPS, name, f"uid-{name}", owners, instance)


def test_objects_below_objects_belong_to_the_instance() -> None:
    objects = [
        *(found("a", "tea"), found("b", "uid-a"), found("c", "uid-b", "uid-c"), found("d", "milk")),
        *(found("e", instance="tea-name"), found("f"), found("g", "uid-d")),
    ]
    owned = owned_by({"tea": "tea-name", "milk": "milk-name"}, objects)
    assert [[one.name for one in owned[uid]] for uid in ("tea", "milk")] == [
        ["a", "e", "b", "c"],
        ["d", "g"],
    ]


def test_owners_in_a_circle_end() -> None:
    objects = [found("a", "tea", "uid-b"), found("b", "uid-a")]
    assert [one.name for one in owned_by({"tea": "t"}, objects)["tea"]] == ["a", "b"]


def test_a_pod_names_what_it_needs() -> None:
    container = {
        "envFrom": [{"secretRef": {"name": "s1"}}, {"configMapRef": {"name": "c1"}}],
        "env": [
            {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s2", "key": "k"}}},
            {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c2", "optional": True}}},
            {"name": "C", "value": "x"},
        ],
    }
    volumes = [
        {"secret": {"secretName": "s3"}},
        {"persistentVolumeClaim": {"claimName": "p1"}},
        {"projected": {"sources": [{"secret": {"name": "s4"}}, {"configMap": {"name": "c3"}}]}},
        {"emptyDir": {}},
    ]
    spec = {
        "serviceAccountName": "sa",
        "imagePullSecrets": [{"name": "s5"}],
        "initContainers": [container],
        "volumes": volumes,
    }
    named = {(one.kind.kind, one.name, one.optional) for one in references({"spec": spec})}
    assert named == {
        *(("Secret", f"s{number}", False) for number in range(1, 6)),
        *(("ConfigMap", "c1", False), ("ConfigMap", "c2", True), ("ConfigMap", "c3", False)),
        *(("PersistentVolumeClaim", "p1", False), ("ServiceAccount", "sa", False)),
    }
    assert references({}) == frozenset()


def test_logs_of_containers_that_have_run() -> None:
    pod = {
        "spec": {
            "initContainers": [{"name": "first"}],
            "containers": [{"name": "never"}, {"name": "crashed"}],
        },
        "status": {
            "initContainerStatuses": [{"name": "first", "state": {"terminated": {}}}],
            "containerStatuses": [
                {"name": "never", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
                {
                    "name": "crashed",
                    "state": {"running": {}},
                    "lastState": {"terminated": {"x": 1}},
                },
            ],
        },
    }
    assert [log.path for log in logs_of(pod, "f/")] == [
        "f/first",
        "f/crashed",
        "f/crashed.previous",
    ]


# Certificates


def certificate(until: datetime) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kudo")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(until)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


def test_until_when_certificates_are_valid() -> None:
    moments = (datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC), datetime(2055, 1, 1, tzinfo=UTC))
    assert expiries("\n".join(map(certificate, moments))) == moments


def test_certificates_are_in_secrets_and_in_configurations() -> None:
    pem = certificate(NOW)
    encoded = base64.b64encode(pem.encode()).decode()
    found = installation(hooks=[{"clientConfig": {"caBundle": encoded}}, {}])
    found.objects.append({"kind": "Secret", "metadata": {"name": "s"}, "data": {"tls.crt": "?"}})
    found.objects.append({"kind": "Secret", "metadata": {}, "data": {"tls.crt": encoded}})
    assert installation_findings.certificates(found) == [pem, pem]


@given(st.binary(max_size=200), st.integers(0, 300))
def test_what_is_no_certificate_is_left_out(content: bytes, cut: int) -> None:
    begin, end = "-----BEGIN CERTIFICATE-----\n", "\n-----END CERTIFICATE-----"
    assert expiries(f"{begin}{base64.b64encode(content).decode()}{end}") == ()
    lines = certificate(NOW).splitlines()
    whole = base64.b64decode("".join(lines[1:-1]))
    broken = whole[: min(cut, len(whole) - 1)]
    expiries(f"{begin}{base64.b64encode(broken).decode()}{end}")


# Findings


def texts(*found: Finding) -> list[str]:
    return [f"{one.subject}: {one.text}" for one in found]


def instance(**more: Any) -> Member:
    obj = {"kind": "Instance", "metadata": {"name": "tea"}, "spec": {}, "status": {}} | more
    there: JsonObject = {"metadata": {"name": "v"}}
    return Member("f/", "", "tea", obj, there, there)


def plan(status: str, **more: Any) -> JsonObject:
    return {"planStatus": {"deploy": {"name": "deploy", "status": status, "uid": "u"} | more}}


def test_what_looks_wrong_with_an_instance() -> None:
    rows = [
        ({}, []),
        ({"status": plan("COMPLETE")}, []),
        ({"status": plan("IN_PROGRESS", lastUpdatedTimestamp=NEW)}, []),
        (
            {"status": plan("IN_PROGRESS", lastUpdatedTimestamp=OLD)},
            ["instance tea: plan deploy is IN_PROGRESS since 3h"],
        ),
        ({"status": plan("ERROR")}, ["instance tea: plan deploy is ERROR"]),
        (
            {"status": plan("FATAL_ERROR", message="no\nway")},
            ["instance tea: plan deploy is in FATAL_ERROR: no way"],
        ),
        (
            {"spec": {"planExecution": {"planName": "deploy", "uid": "other"}}},
            ["instance tea: plan deploy is scheduled and has not started"],
        ),
        (
            {"metadata": {"name": "tea", "deletionTimestamp": OLD, "finalizers": ["x"]}},
            [
                (
                    "instance tea: it is being deleted and still exists; finalizers: x "
                    "(its name does not say whose)"
                )
            ],
        ),
        (
            {"status": {"conditions": [{"type": "Stalled", "status": "True", "reason": "R"}]}},
            ["instance tea: stalled: R"],
        ),
    ]
    assert [(more, texts(*findings.of_instance(instance(**more), NOW))) for more, _ in rows] == rows


def workload(kind: str, spec: JsonObject, status: JsonObject) -> JsonObject:
    return {"kind": kind, "metadata": {"name": "w"}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (workload("Deployment", {"replicas": 2}, {"readyReplicas": 2}), []),
        (
            workload("StatefulSet", {"replicas": 2}, {"readyReplicas": 1}),
            ["statefulset w: 1 of 2 pods are ready"],
        ),
        (
            workload("DaemonSet", {}, {"desiredNumberScheduled": 3}),
            ["daemonset w: 0 of 3 pods are ready"],
        ),
        (
            workload("PersistentVolumeClaim", {}, {"phase": "Pending"}),
            ["persistentvolumeclaim w: it is Pending and not Bound"],
        ),
        (
            workload("Job", {}, {"conditions": [{"type": "Failed", "status": "True"}]}),
            ["job w: has failed"],
        ),
    ],
)
def test_what_looks_wrong_with_objects(obj: JsonObject, said: list[str]) -> None:
    member = instance()
    member.objects = [obj]
    assert texts(*findings.of_objects(member, {}, NOW)) == said


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"phase": "Running"}, []),
        ({"phase": "Failed"}, ["pod p: has failed"]),
        (
            {"phase": "Failed", "reason": "Evicted", "message": "low on memory"},
            ["pod p: has failed: Evicted: low on memory"],
        ),
        (
            {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes",
                    }
                ]
            },
            ["pod p: Unschedulable: 0/3 nodes"],
        ),
        (
            {"containerStatuses": [{"name": "c", "state": {"running": {"x": 1}}}]},
            ["pod p: container c runs and is not ready: its readiness probe fails"],
        ),
        (
            {"initContainerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 1}}}]},
            ["pod p: container c ended with exit code (1)"],
        ),
        (
            {
                "containerStatuses": [
                    {
                        "name": "c",
                        "ready": True,
                        "restartCount": 5,
                        "state": {"running": {"x": 1}},
                        "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
                    }
                ]
            },
            [
                (
                    "pod p: container c was restarted 5 times; it ended with OOMKilled (137) the "
                    "last time"
                )
            ],
        ),
    ],
)
def test_what_looks_wrong_with_a_pod(status: JsonObject, said: list[str]) -> None:
    pod = {"metadata": {"name": "p", "creationTimestamp": OLD}, "status": status}
    assert texts(*findings.of_pod(pod, {}, NOW)) == said


def test_a_container_that_ran_out_of_memory_and_runs_again_needs_more() -> None:
    container: JsonObject = {
        "name": "c",
        "ready": True,
        "restartCount": 1,
        "state": {"running": {}},
    }
    container["lastState"] = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    pod = {"metadata": {"name": "p"}, "status": {"containerStatuses": [container]}}
    (finding,) = findings.of_pod(pod, {}, NOW)
    assert finding.text == (
        "container c was restarted once; it ended with OOMKilled (137) the last time"
    )
    assert finding.advice == "raise its memory limit"


def test_a_new_pod_may_be_starting() -> None:
    waiting = {"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}}
    metadata = {"name": "p", "creationTimestamp": NEW}
    pod = {"metadata": metadata, "status": {"containerStatuses": [waiting]}}
    assert texts(*findings.of_pod(pod, {}, NOW)) == []


def installation(**more: Any) -> Installation:
    labels = {"kubernetes.io/service-name": "kudo-webhook"}
    deployments = [
        {"kind": "Deployment", "metadata": {"name": f"kudo-{name}"}, "spec": {"replicas": 0}}
        for name in ("webhook", "reconciler")
    ]
    endpoints = {
        "kind": "EndpointSlice",
        "metadata": {"name": "e", "labels": labels},
        "endpoints": [{"conditions": {"ready": more.get("ready", True)}}],
    }
    lease = {
        "kind": "Lease",
        "metadata": {"name": "kudo-reconciler"},
        "spec": {"renewTime": more.get("renewed", NEW), "leaseDurationSeconds": 15},
    }
    hooks = {
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "kudo-instance-admission"},
        "webhooks": more.get("hooks", [{"clientConfig": {"caBundle": "x"}}]),
    }
    return Installation("kudo-system", [*deployments, endpoints, lease], [hooks])


def test_an_installation_that_works() -> None:
    assert (
        texts(
            *installation_findings.of_installation(installation(), [NOW + timedelta(days=60)], NOW)
        )
        == []
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"ready": False}, "service kudo-webhook: has no ready endpoint"),
        ({"renewed": OLD}, "lease kudo-reconciler: was renewed 3h ago: no reconciler leads, so"),
        ({"hooks": []}, "MutatingWebhookConfiguration kudo-instance-admission: has no webhooks:"),
        ({"hooks": [{}]}, "MutatingWebhookConfiguration kudo-instance-admission: has no caBundle:"),
    ],
)
def test_what_looks_wrong_with_kudo(more: JsonObject, said: str) -> None:
    (found,) = texts(*installation_findings.of_installation(installation(**more), [], NOW))
    assert found.startswith(said)


def test_certificates_that_end_soon() -> None:
    moments = [NOW - timedelta(days=1), NOW + timedelta(days=2), NOW + timedelta(days=30)]
    assert texts(*installation_findings.of_installation(installation(), moments, NOW)) == [
        "the webhook's certificate: expired on 2030-01-01 03:04 UTC",
        "the webhook's certificate: expires on 2030-01-04 03:04 UTC",
    ]


def test_crds_that_are_missing_or_too_new() -> None:
    found = installation()
    found.crds = [
        {
            "metadata": {"name": f"{plural}.kudo.dev"},
            "spec": {"versions": [{"name": version, "served": True}]},
        }
        for plural, version in (("operators", "v1beta1"), ("instances", "v2"))
    ]
    assert texts(*installation_findings.of_installation(found, [], NOW)) == [
        "CRD operatorversions.kudo.dev: is not installed",
        "CRD instances.kudo.dev: does not serve v1beta1",
        "CRD inventories.kudo.dev: is not installed",
    ]


def test_warnings_are_told_once_and_newest_first() -> None:
    member = instance()
    member.events = [
        {"type": kind, "reason": reason, "involvedObject": {"kind": "Pod", "name": "p"}}
        for kind, reason in (
            *(("Warning", "A"), ("Normal", "N"), ("Warning", "B"), ("Warning", "A")),
        )
    ]
    assert texts(*findings.of_events([member])) == ["pod p: event A", "pod p: event B"]
    assert len(list(findings.of_events([member], most=1))) == 1


# The summary


def test_a_summary_is_cut() -> None:
    many = [Finding("x", str(number)) for number in range(150)]
    failures = [Failure(f"{number}.err", "y" * 500) for number in range(60)]
    text = summary([f"i{number}" for number in range(30)], many, failures, NOW)
    assert "... and 50 more" in text
    assert "... and 10 more" in text
    assert "i19, ..." in text
    assert max(map(len, text.splitlines())) < 250
    assert "Nothing looks wrong." in summary(["tea"], [], [], NOW)


def test_what_cannot_be_read_of_kudo_itself_is_told_first() -> None:
    failures = [Failure(f"{number}.err", "forbidden") for number in range(60)]
    text = summary([], [], [*failures, Failure("kudo/pods.err", "no")], NOW)
    lines = text.partition("What could not be read:\n")[2].splitlines()
    assert lines[:2] == ["  kudo/pods.err: no", "  0.err: forbidden"]
    assert lines[-1] == "... and 11 more"


def test_kinds_are_those_of_the_api() -> None:
    metadata = {"name": "a", "uid": "u", "ownerReferences": [{"uid": "o"}]}
    labelled = {**metadata, "labels": {"kudo.dev/instance": "tea"}}
    assert OwnedObject.of(PODS, {"metadata": labelled}) == OwnedObject(
        PODS, "a", "u", ("o",), "tea"
    )
    assert OwnedObject.of(REPLICA_SETS, {"metadata": {"name": "b"}}) == OwnedObject(
        REPLICA_SETS, "b", ""
    )
