"""`kubectl kudo init`: which flags go together, and what becomes of them without a cluster."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kubectl_kudo import __version__
from tests.unit.cli.conftest import Cli

JsonObject = dict[str, Any]
_PACKAGE = Path(__file__).parents[4] / "cli" / "src" / "kubectl_kudo"
_REGISTRY = "registry.example.com:5000/kudo/"
_NO_CLIENT = ("-i webhook=w", "--version 1", "-o yaml", "--crd-only", "-w")
_CLIENT_ONLY = "you cannot use image, version, output, crd-only and wait flags with client-only"
_AT_THE_SAME_TIME = "'--{}' and '--{}' can not be used at the same time"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("cluster", "this command does not accept arguments"),
        ("-i webhook=w --version 1", "specify either 'kudo-image' or 'version', not both"),
        *((f"-c {flag}", _CLIENT_ONLY) for flag in _NO_CLIENT),
        ("--crd-only --wait", "wait is not allowed with crd-only"),
        ("--wait-timeout 5", "wait-timeout is only useful when using the flag '--wait'"),
        ("--upgrade --verify", _AT_THE_SAME_TIME.format("upgrade", "verify")),
        ("--dry-run --verify", _AT_THE_SAME_TIME.format("dry-run", "verify")),
        ("--upgrade --crd-only", f"{_AT_THE_SAME_TIME.format('upgrade', 'crd-only')}: you can not"),
        ("--uninstall --upgrade", _AT_THE_SAME_TIME.format("uninstall", "upgrade")),
        ("--take-over --verify", _AT_THE_SAME_TIME.format("take-over", "verify")),
        ("--yes", "'--yes' and '--delete-crds' are only useful when using the flag '--uninstall'"),
        ("--uninstall -o yaml", "'--uninstall' prints no manifests: leave out '--output'"),
        ("--kudo-image-pull-policy Often", "unknown image pull policy Often, must be one of "),
        ("-o table", "invalid output format, only support 'yaml' or 'json' or empty"),
        ("-i controller=kudobuilder/controller:v0.19.0", "KUDO has two images: give --kudo-image"),
        ("-i a/b:c?d", '"a/b:c?d" is not a valid reference of an image'),
        ("-i webhook=", '"" is not a valid reference of an image'),
        ("--version a/b", '"a/b" is not a valid tag of an image'),
        ("--image-registry -x", "flag needs an argument: --image-registry"),
        ("--image-registry =x", '"=x" is not a valid prefix of an image'),
        ("-n Kitchen", 'the namespace name "Kitchen" is not valid'),
    ],
)
def test_flags_that_do_not_fit_together_are_refused_in_the_words_of_the_original(
    run: Cli, line: str, text: str
) -> None:
    ran = run("init", *line.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"Error: {text}")


# BTO-36: a build that was no release failed here as well, though no image is needed.
def test_client_only_has_nothing_to_do(run: Cli) -> None:
    assert (
        run("init", "--client-only").out
        == "nothing to do: packages come with kubectl kudo until you add repositories\n"
    )


def manifests(run: Cli, *flags: str) -> list[JsonObject]:
    ran = run("init", "--dry-run", "-o", "json", *flags)
    assert (ran.code, ran.err) == (0, "")
    assert "${" not in ran.out
    return listed(ran.out)


def listed(out: str) -> list[JsonObject]:
    objects: list[JsonObject] = json.loads(out)
    return objects


def find(objects: list[JsonObject], kind: str, name: str) -> JsonObject:
    [found] = [o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return found


def images(objects: list[JsonObject]) -> set[tuple[str, str]]:
    containers = [
        container
        for obj in objects
        if obj["kind"] == "Deployment"
        for container in obj["spec"]["template"]["spec"]["containers"]
    ]
    return {(container["image"], container["imagePullPolicy"]) for container in containers}


def test_a_dry_run_prints_the_manifests_and_asks_no_cluster(run: Cli) -> None:
    # BTO-38: a dry run needed a cluster, and printed nothing where KUDO was installed.
    objects = manifests(run)

    kinds = [obj["kind"] for obj in objects]
    assert kinds[:5] == ["CustomResourceDefinition"] * 4 + ["Namespace"]
    assert {"Issuer", "Certificate", "MutatingWebhookConfiguration"} <= set(kinds)
    # BTO-37: v1beta1 of webhook configurations, which no API server serves any more.
    configuration = find(objects, "MutatingWebhookConfiguration", "kudo-instance-admission")
    assert configuration["apiVersion"] == "admissionregistration.k8s.io/v1"
    # What asks the webhook comes after it, and the reconciler last.
    names = [f"{obj['kind']} {obj['metadata']['name']}" for obj in objects]
    order = [
        "Deployment kudo-webhook",
        "MutatingWebhookConfiguration kudo-instance-admission",
        "ValidatingWebhookConfiguration kudo-instance-admission",
        "Deployment kudo-reconciler",
    ]
    assert [name for name in names if name in order] == order
    assert names[-1] == order[-1]
    namespaces = {obj["metadata"].get("namespace", "kudo-system") for obj in objects}
    assert namespaces == {"kudo-system"}


@pytest.mark.parametrize(
    ("flags", "registry"),
    [
        (["-i", "kudobuilder/controller:v0.19.0"], "kudobuilder/"),
        (["-i", "registry.example.com:5000/kudo/controller@sha256:0a"], _REGISTRY),
        (["-i", "controller"], ""),
        (["-i", "a/controller", "--image-registry", "registry.example.com:5000/kudo"], _REGISTRY),
    ],
)
def test_the_one_image_of_the_original_stands_for_two_of_its_registry(
    run: Cli, flags: list[str], registry: str
) -> None:
    ran = run("init", "--dry-run", "-o", "json", *flags)

    expected = [f"{registry}kudo-{name}:{__version__}" for name in ("webhook", "reconciler")]
    objects = listed(ran.out)
    assert {image for image, _ in images(objects)} == set(expected)
    assert ran.err == (
        f"--kudo-image {flags[1]} names one image, as with KUDO 0.19. KUDO has two now: from the "
        f"same registry, {expected[0]} and {expected[1]} are used. To choose others, give "
        "--kudo-image webhook=<reference> and --kudo-image reconciler=<reference>, or "
        "--image-registry <registry> and --version <tag>\n"
    )


def test_the_one_image_of_the_original_leaves_a_named_one_alone(run: Cli) -> None:
    ran = run("init", "--dry-run", "-o", "json", "-i", "a/b:c", "-i", "webhook=mine:1")
    objects = listed(ran.out)
    assert {image for image, _ in images(objects)} == {
        "mine:1",
        f"a/kudo-reconciler:{__version__}",
    }


def test_the_labels_of_helm_are_replaced(run: Cli) -> None:
    for obj in manifests(run):
        labels = obj["metadata"]["labels"]
        assert labels["app.kubernetes.io/managed-by"] == "kubectl-kudo"
        assert "helm.sh" not in json.dumps(obj)


def test_the_webhook_can_make_its_certificate(run: Cli) -> None:
    objects = manifests(run, "--unsafe-self-signed-webhook-ca")

    # BTO-39: a CA that was printed was not the one installed, and an upgrade kept only half of
    # it. No manifest contains one: the webhook issues it, stores it, and registers it.
    assert not {"Issuer", "Certificate", "Secret"} & {obj["kind"] for obj in objects}
    assert "caBundle" not in json.dumps(objects)
    webhook = find(objects, "Deployment", "kudo-webhook")
    arguments = webhook["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--certificate-secret=kudo-webhook-certificate" in arguments
    mutating = find(objects, "MutatingWebhookConfiguration", "kudo-instance-admission")
    assert "annotations" not in mutating["metadata"]


def test_another_namespace_is_named_everywhere_and_not_made(run: Cli) -> None:
    objects = manifests(run, "-n", "kitchen")

    assert "Namespace" not in {obj["kind"] for obj in objects}
    assert "kudo-system" not in json.dumps(objects)
    certificate = find(objects, "Certificate", "kudo-webhook")
    assert "kudo-webhook.kitchen.svc" in certificate["spec"]["dnsNames"]
    assert "system:serviceaccount:kitchen:kudo-reconciler" in json.dumps(objects)


def test_an_existing_account_is_bound_and_not_made(run: Cli) -> None:
    objects = manifests(run, "--service-account", "cook")

    accounts = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "ServiceAccount"}
    assert accounts == {"kudo-webhook"}
    reconciler = find(objects, "Deployment", "kudo-reconciler")
    assert reconciler["spec"]["template"]["spec"]["serviceAccountName"] == "cook"
    bound = {
        (obj["metadata"]["labels"]["app.kubernetes.io/component"], obj["subjects"][0]["name"])
        for obj in objects
        if obj["kind"].endswith("RoleBinding")
    }
    assert bound == {("reconciler", "cook"), ("webhook", "kudo-webhook")}
    # Nobody else may write inventories.
    policy = find(objects, "ValidatingAdmissionPolicy", "kudo-inventories")["spec"]
    [condition] = policy["matchConditions"]
    account = "system:serviceaccount:kudo-system:cook"
    assert condition["expression"] == f"request.userInfo.username != '{account}'"
    binding = find(objects, "ValidatingAdmissionPolicyBinding", "kudo-inventories")["spec"]
    assert binding == {"policyName": "kudo-inventories", "validationActions": ["Deny"]}


@pytest.mark.parametrize(
    ("flags", "webhook", "reconciler"),
    [
        # BTO-36: a build that was no release could not infer its images.
        ((), f"kudo-webhook:{__version__}", f"kudo-reconciler:{__version__}"),
        # BTO-35: a leading v was doubled.
        (("--version", "v7.8.9"), "kudo-webhook:7.8.9", "kudo-reconciler:7.8.9"),
        (
            ("--image-registry", "registry.example.com/kudo/", "--version", "7"),
            "registry.example.com/kudo/kudo-webhook:7",
            "registry.example.com/kudo/kudo-reconciler:7",
        ),
        (
            ("-i", "webhook=mine/w@sha256:0", "-i", "reconciler=mine/r:1"),
            "mine/w@sha256:0",
            "mine/r:1",
        ),
    ],
)
def test_images_are_those_that_the_flags_name(
    run: Cli, flags: tuple[str, ...], webhook: str, reconciler: str
) -> None:
    objects = manifests(run, "--kudo-image-pull-policy", "Never", *flags)
    assert images(objects) == {(webhook, "Never"), (reconciler, "Never")}


def test_the_crds_can_be_had_alone(run: Cli) -> None:
    objects = manifests(run, "--crd-only")
    assert [obj["metadata"]["name"] for obj in objects] == [
        "instances.kudo.dev",
        "inventories.kudo.dev",
        "operators.kudo.dev",
        "operatorversions.kudo.dev",
    ]


def test_a_dry_run_without_output_names_the_objects(run: Cli) -> None:
    # BTO-42: with --wait, a dry run waited for what it had not installed.
    assert run("init", "--dry-run", "--wait").out == run("init", "--dry-run").out
    ran = run("init", "--dry-run")
    assert "deployment.apps/kudo-webhook applied (dry run)\n" in ran.out
    assert ran.err == "with -o yaml or -o json, the manifests are printed\n"


def test_the_manifests_are_found_in_a_plugin_that_is_a_single_file(tmp_path: Path) -> None:
    archive = tmp_path / "plugin.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (*_PACKAGE.rglob("*.py"), *_PACKAGE.glob("manifests/*")):
            file.write(path, path.relative_to(_PACKAGE.parent))
    script = "import kubectl_kudo.__main__ as m; print(m.__file__); m.main(['init','--dry-run'])"

    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith(str(archive))
    assert "deployment.apps/kudo-webhook applied" in done.stdout
