"""Checks of `kubectl kudo init` before it changes anything.

Each check returns the problems that it finds, as sentences. Permissions are checked before all
others: a user who lacks them sees that alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.setup.cluster import (
    CERT_MANAGER,
    CONFIGURATION,
    MANAGED_BY,
    RECONCILER,
    WEBHOOK,
    find,
    kind_of,
    labels_of,
    minor_version,
)
from kubectl_kudo.setup.options import DEFAULT_ACCOUNT, DEFAULT_NAMESPACE, Options
from kubectl_kudo.setup.original import Original
from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import (
    CLUSTER_ROLE_BINDINGS,
    DEPLOYMENTS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    Resource,
)

_OLDEST: Final = (1, 30)
_VERBS: Final = ("create", "patch")
_REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """An installation to check.

    Attributes:
        client: The connection.
        options: What is to be installed.
        upgrade: Whether to change an installation, which must exist then.
        original: The installation of KUDO 0.19 in the cluster, if there is one.
        take_over: Whether it may be replaced.
    """

    client: Client
    options: Options
    upgrade: bool
    original: Original | None
    take_over: bool


@dataclass(frozen=True, slots=True)
class HelmRelease:
    """A Helm release of the chart.

    Attributes:
        name: Of the release.
        namespace: Where Helm keeps the release.
    """

    name: str
    namespace: str


async def check(plan: Plan, checks: Iterable[Callable[[Plan], Awaitable[list[str]]]]) -> None:
    """Run checks.

    Raises:
        CliError: a requirement is not met; the text lists all that are not.
    """
    problems = [problem for check_one in checks for problem in await check_one(plan)]
    _raise_if(problems, upgrade=plan.upgrade)


def _raise_if(problems: list[str], *, upgrade: bool = False) -> None:
    if problems:
        kind = "upgrade" if upgrade else "installation"
        separator = "\n  " if len(problems) > 1 else " "
        raise CliError(separator.join([f"failed to verify {kind} requirements:", *problems]))


async def check_rights(client: Client, objects: Sequence[JsonObject]) -> None:
    """Check that the user may apply objects.

    Raises:
        CliError: they lack permissions; the text names all of them in one line.
    """
    desired = {
        (kind_of(obj), obj["metadata"].get("namespace"), verb) for obj in objects for verb in _VERBS
    }
    try:
        async with asyncio.TaskGroup() as group:
            reviews = [
                group.create_task(_denied(client, objects, *right), name="rights")
                for right in desired
            ]
    except ExceptionGroup as errors:
        # All requests go to the same API server: one error is enough.
        raise errors.exceptions[0] from None
    denied = sorted(text for review in reviews for text in review.result())
    _raise_if([f"you lack permission to {', to '.join(denied)}"] if denied else [])


async def _denied(
    client: Client, objects: Sequence[JsonObject], kind: Resource, namespace: str | None, verb: str
) -> list[str]:
    if await _allowed(client, kind, namespace, verb):
        return []
    names = {
        obj["metadata"]["name"]
        for obj in objects
        if kind_of(obj) == kind and obj["metadata"].get("namespace") == namespace
    }
    # A rule may be limited to names (`resourceNames`).
    for name in sorted(names):
        if not await _allowed(client, kind, namespace, verb, name):
            where = f" in namespace {namespace}" if namespace else ""
            return [f"{verb} {kind.name}{where}"]
    return []


async def _allowed(
    client: Client, kind: Resource, namespace: str | None, verb: str, name: str = ""
) -> bool:
    attributes = {"group": kind.group, "resource": kind.plural, "verb": verb, "name": name}
    review: JsonObject = {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "spec": {"resourceAttributes": {**attributes, "namespace": namespace or ""}},
    }
    # Every user may ask this about themselves.
    answer = await client.create(_REVIEWS, review)
    return bool(answer["status"]["allowed"])


async def old_server(plan: Plan) -> list[str]:
    """Return a problem if Kubernetes is too old for the manifests."""
    version = await minor_version(plan.client)
    if not version or version >= _OLDEST:
        return []
    full = (await plan.client.server_version())["gitVersion"]
    oldest = ".".join(map(str, _OLDEST))
    return [f"Kubernetes {oldest} or newer is needed; the API server is {full}"]


async def other_installation(plan: Plan) -> list[str]:
    """Return a problem if KUDO is there that this command did not install here."""
    problems = await installed_otherwise(plan.client, plan.options.namespace)
    if not problems and plan.original is not None and not plan.take_over:
        problems.append(
            f"KUDO 0.19 is installed in this cluster: {plan.original}. To replace it, keeping all "
            "Operators, OperatorVersions and Instances, run the same command with --take-over: it "
            "removes the old manager once the new one is ready"
        )
    return problems


async def installed_otherwise(client: Client, namespace: str) -> list[str]:
    """Return a problem if KUDO is a release of the chart, or in another namespace."""
    release = await helm_release(client, namespace)
    if release is not None:
        text = f"KUDO was installed by Helm, as release {release.name}"
        return [f"{text}: use `helm upgrade` and `helm uninstall`"]
    return await in_other_namespaces(client, namespace)


async def helm_release(client: Client, namespace: str) -> HelmRelease | None:
    """Return the release of the chart, whatever its namespace is."""
    for obj in (
        # It is cluster-scoped, so a release in any namespace is found by it.
        await find(client, MUTATING_WEBHOOKS, CONFIGURATION),
        await find(client, DEPLOYMENTS, WEBHOOK, namespace),
    ):
        if obj is not None and labels_of(obj).get(MANAGED_BY) == "Helm":
            name = labels_of(obj).get("app.kubernetes.io/instance", "kudo")
            annotations = obj["metadata"].get("annotations") or {}
            place = annotations.get("meta.helm.sh/release-namespace", namespace)
            return HelmRelease(name, place)
    return None


async def in_other_namespaces(client: Client, namespace: str) -> list[str]:
    """Return a problem for each other namespace in which KUDO is installed."""
    binding = await find(client, CLUSTER_ROLE_BINDINGS, WEBHOOK) or {}
    # A user has no namespace: that of a local cluster, whose services run outside of it.
    namespaces = {subject.get("namespace") for subject in binding.get("subjects") or []}
    others = namespaces - {namespace, None}
    return [
        f"KUDO is installed in namespace {other}, and a cluster can have only one KUDO: use "
        f"--namespace={other}"
        for other in others
    ]


async def unusable_namespace(plan: Plan) -> list[str]:
    """Return a problem if the namespace is being deleted, or is not the default and missing."""
    name = plan.options.namespace
    namespace = await find(plan.client, NAMESPACES, name)
    if namespace is None and name != DEFAULT_NAMESPACE:
        return [
            (
                f"Namespace {name} does not exist - KUDO expects that any namespace except the "
                f"default {DEFAULT_NAMESPACE} is created beforehand"
            )
        ]
    if namespace is not None and namespace["metadata"].get("deletionTimestamp"):
        return [f"Namespace {name} is being deleted"]
    return []


async def missing_account(plan: Plan) -> list[str]:
    """Return a problem if the service account is not the default and missing."""
    account, namespace = plan.options.service_account, plan.options.namespace
    if account == DEFAULT_ACCOUNT or await find(plan.client, SERVICE_ACCOUNTS, account, namespace):
        return []
    return [
        (
            f"Service Account {account} does not exists - KUDO expects the serviceAccount to be "
            f"present in the namespace {namespace}"
        )
    ]


async def missing_cert_manager(plan: Plan) -> list[str]:
    """Return a problem if cert-manager is needed and is missing or too old."""
    if plan.options.built_in:
        return []
    try:
        listing = await plan.client.raw("GET", f"/apis/{CERT_MANAGER}/v1")
        served = {entry["name"] for entry in listing.get("resources") or []}
    except NotFound:
        served = set()
    if {"certificates", "issuers"} <= served:
        return []
    return [
        (
            "failed to detect any valid cert-manager CRDs. Make sure cert-manager is installed, in "
            "version 1.0 or newer, or use --unsafe-self-signed-webhook-ca: the webhook then "
            "issues and renews its certificate itself"
        )
    ]


async def other_certificate(client: Client, options: Options) -> str:
    """Return a problem if the installed webhook has its certificate from the other source."""
    containers = await _containers(client, WEBHOOK, options.namespace)
    arguments = [text for container in containers for text in container.get("args") or []]
    built_in = any(text.startswith("--certificate-secret") for text in arguments)
    if not containers or built_in == options.built_in:
        return ""
    flag = "--unsafe-self-signed-webhook-ca"
    if built_in:
        return f"the installed webhook issues its certificate itself: add {flag}"
    return f"the installed webhook does not issue its certificate itself: leave out {flag}"


async def changed_certificate(plan: Plan) -> list[str]:
    """Return a problem if the source of the certificate would change without `--upgrade`."""
    if plan.upgrade:
        return []
    text = await other_certificate(plan.client, plan.options)
    return [f"{text}, or change that with --upgrade"] if text else []


async def unexpected_state(plan: Plan) -> list[str]:
    """Return a problem if images would change without `--upgrade`, or nothing can be upgraded."""
    namespace = plan.options.namespace
    installed = {
        name: str(containers[0]["image"])
        for name in (WEBHOOK, RECONCILER)
        if (containers := await _containers(plan.client, name, namespace))
    }
    if plan.upgrade and not installed and plan.original is None:
        return [f"KUDO is not installed in namespace {namespace}: leave out --upgrade"]
    desired = {f"kudo-{service}": image for service, image in plan.options.images.items()}
    return [
        f"KUDO manager {namespace}/{name} seems to be installed with the image {image}, not "
        f"{desired[name]}. Did you mean to use --upgrade"
        for name, image in installed.items()
        if image != desired[name] and not plan.upgrade
    ]


async def _containers(client: Client, name: str, namespace: str) -> list[JsonObject]:
    deployment = await find(client, DEPLOYMENTS, name, namespace)
    return deployment["spec"]["template"]["spec"]["containers"] if deployment else []


REQUIREMENTS: Final = (
    old_server,
    other_installation,
    unusable_namespace,
    missing_account,
    missing_cert_manager,
    changed_certificate,
    unexpected_state,
)
