"""Rights that let their holder get more than they say: who hands them out has to know it.

| Right | Its holder could |
|---|---|
| `*` as a verb, group, resource or URL | do what nobody has listed |
| `bind`, `escalate`, `impersonate` and its constrained forms | take the rights of others |
| writes to RBAC | keep and hand on what it may do |
| writes to webhooks, admission policies, CRDs, API services | change what others write |
| to approve or sign certificates, to create tokens of accounts | act as others |
| proxies of nodes; in all namespaces Secrets, commands in pods, what runs pods | act as others |

In its own namespace an account that runs pods has the rights of the accounts there anyway:
`docs/tenancy.md` says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kudo.permissions.grants import RBAC
from kudo.permissions.model import Rights, Rule

_ANY: Final = "*"
_READS: Final = frozenset({"get", "list", "watch"})
_OF_OTHERS: Final = ("bind", "escalate", "impersonate")
_WRITTEN: Final = {
    RBAC: "write roles or bindings",
    "admissionregistration.k8s.io": "change or see what others write, by webhooks and policies",
    "apiextensions.k8s.io": "change how objects of others are converted, by CRDs",
    "apiregistration.k8s.io": "answer for the API server, by API services",
}
"""Groups of which every write counts."""
_ANYWHERE: Final = {
    ("", "serviceaccounts/token"): "act as other accounts, by tokens",
    ("", "nodes/proxy"): "run commands in all pods of a node",
    (
        "certificates.k8s.io",
        "certificatesigningrequests/approval",
    ): "act as others, by certificates",
    ("certificates.k8s.io", "signers"): "act as others, by certificates",
}
_COMMANDS: Final = frozenset(
    {"pods/attach", "pods/ephemeralcontainers", "pods/exec", "pods/portforward", "pods/proxy"}
)
_PODS: Final = {
    "": frozenset({"pods", "replicationcontrollers"}),
    "apps": frozenset({"daemonsets", "deployments", "replicasets", "statefulsets"}),
    "batch": frozenset({"cronjobs", "jobs"}),
}
"""What runs pods, by group."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """A rule that lets its holder get more.

    Attributes:
        rule: The rule.
        cluster: Whether it holds in the whole cluster, and not in one namespace alone.
        could: What its holder could do.
    """

    rule: Rule
    cluster: bool
    could: str

    def __str__(self) -> str:
        return f"{described(self.rule, cluster=self.cluster)}: could {self.could}"


def escalations(rights: Rights) -> list[Escalation]:
    """Return the rules of rights that let their holder get more, those of the cluster first."""
    scopes = ((True, rights.cluster), (False, rights.namespaced))
    found = (
        (rule, cluster, _could(rule, cluster=cluster))
        for cluster, rules in scopes
        for rule in rules
    )
    return [Escalation(rule, cluster, could) for rule, cluster, could in found if could]


def described(rule: Rule, *, cluster: bool) -> str:
    """Return a rule in one line, such as `get, patch deployments.apps in the namespace`."""
    groups = rule.groups or ("",)
    what = [f"{one}.{group}" if group else one for group in groups for one in rule.resources]
    names = f" named {', '.join(rule.names)}" if rule.names else ""
    where = "in the whole cluster" if cluster else "in the namespace"
    return f"{', '.join(rule.verbs)} {', '.join((*what, *rule.urls))}{names} {where}"


def _could(rule: Rule, *, cluster: bool) -> str:
    """Return what the holder of a rule could do beyond it; empty if nothing."""
    return "; ".join(dict.fromkeys(_reasons(rule, cluster=cluster)))


def _reasons(rule: Rule, *, cluster: bool) -> Iterator[str]:
    urls = any(_ANY in url for url in rule.urls)
    if urls or any(_ANY in text for text in (*rule.verbs, *rule.groups, *rule.resources)):
        yield "do what nobody has listed"
    taken = [verb for verb in rule.verbs if verb.partition(":")[0] in _OF_OTHERS]
    if taken:
        yield f"take the rights of others, by {', '.join(taken)}"
    writes = not _READS.issuperset(rule.verbs)
    for group in rule.groups:
        if writes and group in _WRITTEN and not taken:
            yield _WRITTEN[group]
        for resource in rule.resources:
            if reason := _ANYWHERE.get((group, resource)):
                yield reason
            if cluster:
                yield from _outside(group, resource, writes=writes)


def _outside(group: str, resource: str, *, writes: bool) -> Iterator[str]:
    """Yield what a right in all namespaces allows there."""
    if not group and resource == "secrets":
        yield "use the Secrets of all namespaces"
    if not group and resource in _COMMANDS:
        yield "run commands in pods of all namespaces"
    if writes and resource in _PODS.get(group, ()):
        yield "run pods as any account of any namespace"
