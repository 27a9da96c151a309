"""Values: which are refused, and with which words; and that the schema knows every one."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.chart.objects import named
from tools.chart.helm import CHART, HelmError, render, template

_RULE = {"apiGroups": [""], "resources": ["pods"]}


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"webhok": {}}, "additional properties 'webhok' not allowed"),
        ({"webhook": {"replica": 3}}, "at '/webhook': additional properties 'replica' not allowed"),
        ({"webhook": {"replicas": "two"}}, "at '/webhook/replicas': got string, want integer"),
        ({"webhook": {"replicas": -1}}, "at '/webhook/replicas': minimum: got -1, want 0"),
        ({"webhook": {"failurePolicy": "Maybe"}}, "must be one of 'Fail', 'Ignore'"),
        ({"webhook": {"timeoutSeconds": 31}}, "maximum: got 31, want 30"),
        ({"webhook": {"timeoutSeconds": 2}}, "minimum: got 2, want 3"),
        ({"webhook": {"extraArgs": ["tls-poll"]}}, "'/webhook/extraArgs/0'"),
        ({"webhook": {"image": {"digest": "sha256:12"}}}, "'/webhook/image/digest'"),
        ({"webhook": {"image": {"repository": "a:1"}}}, "'/webhook/image/repository'"),
        (
            {"webhook": {"clientCA": {"secretName": "a", "configMapName": "b"}}},
            "webhook.clientCA: give either secretName or configMapName",
        ),
        ({"webhook": {"clientCA": {"key": "../ca"}}}, "'/webhook/clientCA/key'"),
        ({"webhook": {"log": {"level": "loud"}}}, "'debug', 'info', 'warning', 'error'"),
        ({"webhook": {"workerProcesses": 1}}, "minimum: got 1, want 2"),
        ({"reconciler": {"workerMemory": "192MB"}}, "'192MB' does not match"),
        ({"reconciler": {"workers": 0}}, "minimum: got 0, want 1"),
        ({"reconciler": {"leaderElection": {"retryPeriod": 0}}}, "exclusiveMinimum"),
        (
            {"reconciler": {"leaderElection": {"renewDeadline": 15}}},
            "renewDeadline (15), and that less than leaseDuration (15)",
        ),
        ({"tls": {"mode": "letsencrypt"}}, "must be one of 'builtIn', 'certManager', 'provided'"),
        ({"tls": {"builtIn": {"leafLifetime": 90}}}, "got number, want string"),
        ({"tls": {"builtIn": {"leafLifetime": "90"}}}, "'90' does not match"),
        ({"tls": {"certManager": {"duration": "90d"}}}, "'90d' does not match"),
        (
            {"tls": {"mode": "certManager", "certManager": {"issuerRef": {"kind": "Issuer"}}}},
            "at '/tls/certManager/issuerRef': missing property 'name'",
        ),
        (
            {"tls": {"mode": "certManager", "certManager": {"duration": "59m"}}},
            "tls.certManager.duration (59m) must be at least 1h",
        ),
        (
            {"tls": {"mode": "certManager", "certManager": {"renewBefore": "4m59s"}}},
            "tls.certManager.renewBefore (4m59s) must be at least 5m",
        ),
        (
            {"tls": {"mode": "certManager", "certManager": {"duration": "24h"}}},
            "tls.certManager.duration (24h) must be longer than tls.certManager.renewBefore (720h)",
        ),
        (
            {
                "tls": {
                    "mode": "certManager",
                    "certManager": {"duration": "1.5h", "renewBefore": "1h20m1s"},
                }
            },
            "tls.certManager.duration (1.5h) must be longer than tls.certManager.renewBefore (1h20",
        ),
        ({"tls": {"publicRoots": True}}, "at '/tls/mode': value must be one of 'certManager', 'pr"),
        (
            {"tls": {"publicRoots": True, "mode": "certManager"}},
            "at '/tls/certManager/issuerRef': missing property 'name'",
        ),
        (
            {
                "tls": {
                    "publicRoots": True,
                    "mode": "provided",
                    "provided": {"secretName": "x", "caBundle": "z"},
                }
            },
            "at '/tls/provided/caBundle': maxLength: got 1, want 0",
        ),
        ({"tls": {"mode": "provided"}}, "at '/tls/provided/secretName': minLength: got 0, want 1"),
        (
            {"tls": {"mode": "provided", "provided": {"secretName": "x", "caBundle": "LS0t"}}},
            "at '/tls/provided/caBundle': 'LS0t' does not match",
        ),
        ({"rbac": {"extraRules": [_RULE]}}, "at '/rbac/extraRules/0': missing property 'verbs'"),
        ({"rbac": {"clusterAdmin": "yes"}}, "got string, want boolean"),
        ({"image": {"tag": "a b"}}, "at '/image/tag': 'a b' does not match"),
        ({"image": {"registry": "https://registry.example.com"}}, "at '/image/registry'"),
        ({"networkPolicy": {"egress": {"apiServerPorts": []}}}, "minItems: got 0, want 1"),
        ({"monitoring": {"serviceMonitor": {"interval": "often"}}}, "'often' does not match"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place_and_what_is_wanted(
    values: dict[str, Any], says: str
) -> None:
    with pytest.raises(HelmError) as refused:
        template(values)

    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("duration", "before"), [("2160h", "720h"), ("1h", "50m"), ("1.5h", "1h20m"), ("3600s", "5m")]
)
def test_a_certificate_that_lives_ten_minutes_longer_than_it_is_renewed_early_is_fine(
    duration: str, before: str
) -> None:
    times = {"duration": duration, "renewBefore": before}

    objects = render({"tls": {"mode": "certManager", "certManager": times}})

    spec = named(objects, "Certificate", "kudo-webhook")["spec"]
    assert {name: spec[name] for name in times} == times


@pytest.mark.parametrize("version", ["1.30.0", "1.31.4-eks-1234", "1.36.3"])
def test_a_current_kubernetes_is_welcome(version: str) -> None:
    assert template(options=[f"--kube-version={version}"])


def test_an_old_kubernetes_is_refused() -> None:
    with pytest.raises(HelmError, match=r"requires kubeVersion: >=1\.30"):
        template(options=["--kube-version=1.29.15"])


def test_every_value_is_described_in_the_schema_and_every_description_has_a_value() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

    described = set(_described(schema, schema["definitions"])) - {"global"}
    assert set(_paths(values)) == described


def test_no_object_of_the_schema_takes_what_it_does_not_name() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

    assert [where for where, node in _objects(schema, "") if _is_open(node)] == []


def _paths(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield f"{prefix}{name}"
        if isinstance(value, dict) and not _is_map(f"{prefix}{name}"):
            yield from _paths(value, f"{prefix}{name}.")


def _described(node: Any, definitions: Any, prefix: str = "") -> Iterator[str]:
    node = definitions[node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    for name, child in node.get("properties", {}).items():
        yield f"{prefix}{name}"
        if not _is_map(f"{prefix}{name}"):
            yield from _described(child, definitions, f"{prefix}{name}.")


def _is_map(path: str) -> bool:
    """Whether what is below is the user's own, or Kubernetes'."""
    return path.rpartition(".")[2] in {"labels", "resources", "issuerRef"}


def _objects(node: Any, where: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        if "properties" in node and "if" not in where and "then" not in where:
            yield where, node
        for name, child in node.items():
            yield from _objects(child, f"{where}/{name}")
    elif isinstance(node, list):
        for number, child in enumerate(node):
            yield from _objects(child, f"{where}/{number}")


def _is_open(node: Any) -> bool:
    return node.get("additionalProperties") is not False
