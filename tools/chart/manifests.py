"""The manifests that `kubectl kudo init` applies, rendered from the chart by Helm.

    python -m tools.chart.manifests [--check]

writes them to the package of the CLI; with `--check` it only prints which are stale. One file has
the CRDs, and one for each mode of tenancy and source of certificates the rest, in the order in
which it is applied. impersonator-old.yaml replaces the ClusterRole kudo-impersonator where the API
server has no constrained impersonation. The policy of the webhook's account is in the chart alone;
the Secret with the key for digests is made by `kubectl kudo init` itself.
Values of the command line are placeholders: ${NAMESPACE}, ${SERVICE_ACCOUNT} (of the reconciler),
${WEBHOOK_IMAGE}, ${RECONCILER_IMAGE} and ${PULL_POLICY}. Hooks and labels of Helm are left out.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml

from kudo.packages.readable_yaml import WIDTH, ReadableDumper
from tools.chart.helm import CHART, HelmError, Json, template

FOLDER: Final = CHART.parents[1] / "cli" / "src" / "kubectl_kudo" / "manifests"
MANAGED_BY: Final = "kubectl-kudo"
_MODES: Final = {"built-in": "builtIn", "cert-manager": "certManager"}
_HEADER: Final = "# Rendered from charts/kudo by `make manifests`; do not edit.\n"

_ACCOUNT: Final = "kudo-reconciler"
# Helm rejects names with a dollar; these stand for the placeholders while it renders.
_NAMESPACE, _WEBHOOK, _RECONCILER, _TAG = (
    f"place-of-the-{what}" for what in ("namespace", "webhook", "reconciler", "tag")
)
_MARKS: Final = {
    f"system:serviceaccount:{_NAMESPACE}:{_ACCOUNT}": (
        "system:serviceaccount:${NAMESPACE}:${SERVICE_ACCOUNT}"
    ),
    f"{_WEBHOOK}:{_TAG}": "${WEBHOOK_IMAGE}",
    f"{_RECONCILER}:{_TAG}": "${RECONCILER_IMAGE}",
    _NAMESPACE: "${NAMESPACE}",
}
_VALUES: Final = {
    "image": {"tag": _TAG},
    "webhook": {"image": {"repository": _WEBHOOK}},
    "reconciler": {"image": {"repository": _RECONCILER}},
}
_TENANCIES: Final = {"compat": "", "strict": "-strict"}
"""The end of the names of the files of each mode."""
_IMPERSONATOR: Final = "kudo-impersonator"
_LEFT_OUT: Final = ("kudo-webhook-registration",)
_REGISTERED: Final = "kudo.dev/webhooks"
_ORDER: Final = (
    *("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    *(
        "Issuer",
        "Certificate",
        "ConfigMap",
        "Service",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "Deployment",
    ),
    *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
)
_FIRST_OF_COMPONENTS: Final = _ORDER.index("Issuer")
_CRD: Final = "CustomResourceDefinition"


def files() -> dict[str, str]:
    """Return the text of each file by its name.

    Raises:
        HelmError: Helm cannot be built, or rejects the chart.
    """
    texts: dict[str, str] = {}
    for tenancy, end in _TENANCIES.items():
        for name, mode in _MODES.items():
            objects = _rendered({**_VALUES, "tls": {"mode": mode}, "tenancy": _tenancy(tenancy)})
            crds = [obj for obj in objects if obj["kind"] == _CRD]
            rest = [_namespace(objects), *(obj for obj in objects if obj["kind"] != _CRD)]
            # The same in each mode: written again and again, and stored once.
            texts["crds.yaml"] = _text(sorted(crds, key=_name))
            texts[f"{name}{end}.yaml"] = _text(sorted(rest, key=_place))
    old = _rendered({**_VALUES, "tenancy": _tenancy("compat", constrained=False)})
    texts["impersonator-old.yaml"] = _text(obj for obj in old if _name(obj) == _IMPERSONATOR)
    return texts


def _tenancy(mode: str, *, constrained: bool = True) -> Json:
    return {"mode": mode, "constrainedImpersonation": constrained}


def _rendered(values: Mapping[str, Any]) -> list[Json]:
    text = template(values, options=[f"--namespace={_NAMESPACE}", "--no-hooks", "--skip-tests"])
    objects = yaml.safe_load_all(text)
    return [_marked(_without_helm(obj)) for obj in objects if obj and _name(obj) not in _LEFT_OUT]


def _namespace(objects: Iterable[Json]) -> Json:
    """Return the namespace, which Helm creates itself, with the labels that all objects share."""
    shared = set.intersection(*(set(obj["metadata"]["labels"].items()) for obj in objects))
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "${NAMESPACE}", "labels": dict(sorted(shared))},
    }


def _without_helm(obj: Json) -> Json:
    """Return the object without the labels and annotations that are for Helm."""
    kept: dict[str, Any] = {}
    for key, value in obj.items():
        # Wherever labels are, also in templates of pods.
        if key == "labels":
            chart = "helm.sh/chart"
            kept[key] = {name: text for name, text in value.items() if name != chart}
            if "app.kubernetes.io/managed-by" in value:
                kept[key]["app.kubernetes.io/managed-by"] = MANAGED_BY
        elif key == "annotations" and "helm.sh/resource-policy" in value:
            continue
        else:
            kept[key] = _without_helm(value) if isinstance(value, dict) else value
    return kept


def _marked(obj: Json) -> Json:
    """Return the object with its placeholders."""
    if obj["kind"] == "ServiceAccount" and obj["metadata"]["name"] == _ACCOUNT:
        obj["metadata"]["name"] = "${SERVICE_ACCOUNT}"
    for subject in obj.get("subjects", []):
        if subject["name"] == _ACCOUNT:
            subject["name"] = "${SERVICE_ACCOUNT}"
    if obj["kind"] == "Deployment":
        # The hash of the webhooks is rendered without namespace and account, which change it, too.
        annotations = obj["spec"]["template"]["metadata"]["annotations"]
        if _REGISTERED in annotations:
            annotations[_REGISTERED] += " for ${NAMESPACE}/${SERVICE_ACCOUNT}"
        pod = obj["spec"]["template"]["spec"]
        if pod["serviceAccountName"] == _ACCOUNT:
            pod["serviceAccountName"] = "${SERVICE_ACCOUNT}"
        for container in pod["containers"]:
            container["imagePullPolicy"] = "${PULL_POLICY}"
    marked: Json = _replaced(obj)
    return marked


def _replaced(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item) for item in value]
    if isinstance(value, str):
        for stand_in, mark in _MARKS.items():
            value = value.replace(stand_in, mark)
    return value


def _place(obj: Json) -> tuple[bool, bool, int, str]:
    """Return the sort key: RBAC first, then the webhook with its configurations, then the rest."""
    # Fails for a kind that has no place yet, so that nobody adds one without its order.
    rank = _ORDER.index(obj["kind"])
    later = rank >= _FIRST_OF_COMPONENTS
    component = obj["metadata"]["labels"].get("app.kubernetes.io/component")
    return later, later and component != "webhook", rank, _name(obj)


def _name(obj: Json) -> str:
    return str(obj["metadata"]["name"])


def _text(objects: Iterable[Json]) -> str:
    return _HEADER + yaml.dump_all(
        objects,
        Dumper=ReadableDumper,
        explicit_start=True,
        sort_keys=False,
        allow_unicode=True,
        width=WIDTH,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.chart.manifests", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; print what is stale")
    check = parser.parse_args().check
    try:
        expected = files()
    except HelmError as error:
        sys.exit(f"error: {error}")
    stored = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yaml")}
    stale = sorted(name for name in expected | stored if expected.get(name) != stored.get(name))
    for name in stale:
        if check:
            print(f"stale: {FOLDER / name}; `make manifests` writes it again", file=sys.stderr)
        elif name in expected:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / name).write_text(expected[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
