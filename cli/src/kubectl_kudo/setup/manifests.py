"""The objects of an installation: manifests of this package with their placeholders filled in."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any

import yaml

from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.setup.cluster import COMPONENT, labels_of
from kubectl_kudo.setup.options import DEFAULT_ACCOUNT, DEFAULT_NAMESPACE, STRICT, Options
from kubeio.resource import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

_CONFIGURATIONS = {MUTATING_WEBHOOKS.kind, VALIDATING_WEBHOOKS.kind}
_IMPERSONATOR = "kudo-impersonator"
_IMPERSONATOR_OF_CLUSTER = "kudo-impersonator-cluster"
_RIGHTS = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}


@dataclass(frozen=True, slots=True)
class Manifests:
    """The objects to apply, in this order.

    Attributes:
        crds: The CustomResourceDefinitions.
        namespace: The namespace, if `init` creates it.
        rights: Service accounts, roles and bindings.
        webhook: The webhook, its Deployment last.
        configurations: The webhook configurations.
        controller: The reconciler and the policy of Inventories, its Deployment last.
    """

    crds: tuple[JsonObject, ...]
    namespace: tuple[JsonObject, ...]
    rights: tuple[JsonObject, ...]
    webhook: tuple[JsonObject, ...]
    configurations: tuple[JsonObject, ...]
    controller: tuple[JsonObject, ...]

    def all(self) -> list[JsonObject]:
        """Return all objects, in that order."""
        return [
            *self.crds,
            *self.namespace,
            *self.rights,
            *self.webhook,
            *self.configurations,
            *self.controller,
        ]


def read_manifests(options: Options) -> Manifests:
    """Return the manifests for these options."""
    objects = [obj for obj in _filled_in(options) if _is_ours(obj, options)]
    rest = [obj for obj in objects if obj["kind"] not in _RIGHTS | _CONFIGURATIONS | {"Namespace"}]
    return Manifests(
        crds=read_crds(),
        namespace=_of_kinds(objects, {"Namespace"}),
        rights=_of_kinds(objects, _RIGHTS),
        webhook=tuple(obj for obj in rest if not _is_reconcilers(obj)),
        configurations=_of_kinds(objects, _CONFIGURATIONS),
        controller=tuple(filter(_is_reconcilers, rest)),
    )


def read_crds() -> tuple[JsonObject, ...]:
    """Return the CustomResourceDefinitions."""
    return tuple(_documents("crds"))


def _documents(name: str) -> Iterator[JsonObject]:
    text = files("kubectl_kudo").joinpath("manifests", f"{name}.yaml").read_text(encoding="utf-8")
    # The parser in C, where there is one, takes a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    yield from yaml.load_all(text, Loader=loader)


def _filled_in(options: Options) -> Iterator[JsonObject]:
    places = {
        "NAMESPACE": options.namespace,
        "SERVICE_ACCOUNT": options.service_account,
        "PULL_POLICY": options.pull_policy,
        **{f"{service.upper()}_IMAGE": image for service, image in options.images.items()},
    }
    end = "-strict" if options.tenancy == STRICT else ""
    for obj in _documents(f"{'built-in' if options.built_in else 'cert-manager'}{end}"):
        name = obj["metadata"]["name"]
        # An API server before Kubernetes 1.36 knows the verb `impersonate` alone.
        if options.constrained or name not in {_IMPERSONATOR, _IMPERSONATOR_OF_CLUSTER}:
            yield _substituted(obj, places)
        elif name == _IMPERSONATOR:
            for old in _documents("impersonator-old"):
                yield _substituted(old, places)


def _substituted(value: Any, places: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _substituted(member, places) for key, member in value.items()}
    if isinstance(value, list):
        return [_substituted(element, places) for element in value]
    return Template(value).substitute(places) if isinstance(value, str) else value


def _is_ours(obj: JsonObject, options: Options) -> bool:
    """Return whether `init` creates an object; a namespace or account of the user exists."""
    name = obj["metadata"]["name"]
    if obj["kind"] == "Namespace":
        return bool(name == DEFAULT_NAMESPACE)
    theirs = options.service_account != DEFAULT_ACCOUNT and name == options.service_account
    return obj["kind"] != "ServiceAccount" or not theirs


def _of_kinds(objects: Iterable[JsonObject], kinds: set[str]) -> tuple[JsonObject, ...]:
    return tuple(obj for obj in objects if obj["kind"] in kinds)


def _is_reconcilers(obj: JsonObject) -> bool:
    return labels_of(obj).get(COMPONENT) == "reconciler"
