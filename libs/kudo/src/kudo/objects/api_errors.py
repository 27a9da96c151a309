"""Errors of the API server: which are fatal for the plan, and what to do about a rejected write.

An error is fatal if the write stays rejected until somebody changes the template, the object or the
cluster. An error that may go away by itself is never fatal: a transient fault must not end the plan
of a database. Some rejections are HTTP 500 and are recognized by the beginning of their message
alone: the rest quotes tenants and webhooks.

Advice is for what users of KUDO have reported: fields that cannot change, values of a wrong type,
missing rights, quotas, and webhooks that do not answer. The first rule that matches wins. Rules
match texts of the API server that are stable across its versions. Other messages stand alone.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kudo.api.names import GROUP

_FATAL_STATUS: Final = frozenset({400, 405, 413, 415, 422})
_PASSING_DENIAL: Final = frozenset({408, 409, 429})
"""Status codes, besides 5xx, with which a webhook says that it could not decide."""
_PASSING_REASONS: Final = frozenset({"PlanRunning", "MutatingWebhookMissing"})
"""Reasons of denials by our webhook and our policies that go away by themselves."""

# A webhook chooses its status code, so these words come before the code.
_DENIED_BY_WEBHOOK: Final = re.compile(r'admission webhook "[^"]*" denied the request')
_DENIED_BY_POLICY: Final = re.compile(r"\S+ \"[^\"]*\" is forbidden: ValidatingAdmissionPolicy '")
_PASSING_POLICY: Final = re.compile(
    r"\S+ \"[^\"]*\" is forbidden: ValidatingAdmissionPolicy 'kudo-instances' "
    r"with binding '[^']*' denied request: (PlanRunning|MutatingWebhookMissing):"
)
_NO_NAMESPACE: Final = re.compile(r'namespaces ".*" not found')
"""Any other 404 may mean that this API server does not serve a new kind yet."""
_FATAL_TEXT: Final = re.compile(
    r"failed to create typed patch object"
    r"|failed to convert new object \(.*\) to proper version: unable to convert unstructured "
    r"|etcdserver: request is too large"
    r"|rpc error: code = ResourceExhausted desc = trying to send message larger than max ",
    re.DOTALL,
)
"""Beginnings of HTTP 500: schema errors of server-side apply, and objects that etcd cannot hold."""


def is_fatal(status: int, reason: str, message: str, causes: Iterable[str]) -> bool:
    """Return whether a rejected write stays rejected when it is retried.

    Args:
        status: HTTP status of the answer.
        reason: `reason` of the answer.
        message: `message` of the answer.
        causes: `reason` of each of `details.causes`.
    """
    reasons = {reason, *causes}
    if _DENIED_BY_WEBHOOK.match(message):
        # A webhook that could not decide says so by its code; ours also by a reason.
        undecided = status in _PASSING_DENIAL or status >= 500
        return not undecided and not reasons & _PASSING_REASONS
    if status in _FATAL_STATUS:
        return True
    if status == 404:
        return _NO_NAMESPACE.match(message) is not None
    # Any other conflict is a write that came first: the next attempt reads the object again.
    if status == 409:
        return "FieldManagerConflict" in reasons
    # A missing right may be granted while the plan waits, so RBAC's 403 is not fatal.
    if status == 403:
        # A policy decides by the object alone, which stays as it is.
        by_policy = _DENIED_BY_POLICY.match(message) and not _PASSING_POLICY.match(message)
        return "NamespaceTerminating" in reasons or bool(by_policy)
    return status == 500 and _FATAL_TEXT.match(message) is not None


_MOST_FIELDS: Final = 5
_LONGEST_FIELD: Final = 120

_IMMUTABLE: Final = re.compile(
    r"\bimmutable\b|may not change once set|cannot change roleRef|may not be changed in an update"
    r"|updates to \w+ spec for fields other than|pod updates may not "
)
_SERVER_SIDE: Final = re.compile(
    r"failed to create typed patch object|failed to convert new object"
)
_TYPE: Final = re.compile(r"\s\.(?P<field>\S+): expected (?P<type>string|numeric|boolean|list|map)")
_CONVERSION: Final = re.compile(r"cannot (?:convert|unmarshal) |illegal base64")
_RIGHT: Final = re.compile(
    r'cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
)
_ACCOUNT: Final = re.compile(
    r'\b[Uu]ser "(?P<user>system:serviceaccount:(?P<namespace>[-a-z0-9]+):'
    r'(?P<account>[-.a-z0-9]+))"'
)
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
_USER: Final = re.compile(r'\b[Uu]ser "(?P<user>[^"]{1,253})" cannot impersonate')
_IMPERSONATE: Final = re.compile(
    r'cannot (?:impersonate resource "serviceaccounts" in API group ""'
    r"|impersonate:\S+ resource "
    r"|impersonate-on:\S+ resource )"
    r'.*?(?: in the namespace "(?P<namespace>[^"]*)"| at the cluster scope|$)'
)
_BLOCKS_OWNER: Final = "cannot set blockOwnerDeletion"
_ESCALATION: Final = "grant RBAC permissions not currently held"
_QUOTA: Final = re.compile(r"(?:exceeded|failed) quota: (?P<name>[^,: ]+)")


@dataclass(frozen=True, slots=True)
class _Rejection:
    """A rejected write; `causes` are pairs of field and message."""

    kind: str
    status: int
    message: str
    causes: Sequence[tuple[str, str]]
    account: str = ""

    def fields(self, pattern: re.Pattern[str]) -> str:
        """Return the fields whose cause matches a pattern, as one text; empty if none does."""
        fields = dict.fromkeys(field for field, text in self.causes if pattern.search(text))
        # `<nil>` is how the API server names the field of an error that is of none.
        named = [_short(field) for field in fields if field and field != "<nil>"]
        more = ["..."] if len(named) > _MOST_FIELDS else []
        return ", ".join(named[:_MOST_FIELDS] + more)


def advice(
    kind: str,
    status: int,
    message: str,
    causes: Sequence[tuple[str, str]],
    *,
    account: str = "",
) -> str:
    """Return what to do about a rejected write: empty, or one clause without a final period.

    Args:
        kind: Kind of the object that was rejected.
        status: HTTP status of the answer.
        message: `message` of the answer.
        causes: `field` and `message` of each of `details.causes`.
        account: The user name of the account that sent it; empty for the reconciler itself.
    """
    rejection = _Rejection(kind, status, message, causes, account)
    return next(filter(None, (rule(rejection) for rule in _RULES)), "")


def _immutable(rejection: _Rejection) -> str:
    fields = rejection.fields(_IMMUTABLE)
    if not fields:
        return ""
    way = _WAYS.get(rejection.kind, _DELETE_OR_RENAME).format(kind=rejection.kind)
    if fields == "spec" and rejection.kind in ("StatefulSet", "Pod"):
        # The server names the fields that may be changed, never those that were.
        return f"the other fields cannot be changed on an existing {rejection.kind}: {way}"
    return f"{fields} cannot be changed on an existing object: {way}"


_DELETE_OR_RENAME: Final = (
    "delete the {kind} in an earlier step (a Delete task) or give it another name"
)
_WAYS: Final = {
    "StatefulSet": f"{_DELETE_OR_RENAME}; its PersistentVolumeClaims stay when it is deleted",
    "PersistentVolumeClaim": "keep them as they are, or use a claim of another name; "
    "deleting this one gives up its data",
    "PersistentVolume": "keep them as they are, or use a volume of another name",
    "ConfigMap": f"{_DELETE_OR_RENAME}, such as one with a hash of its content",
    "Secret": f"{_DELETE_OR_RENAME}, such as one with a hash of its content",
}


def _wrong_type(rejection: _Rejection) -> str:
    if rejection.status != 500 or not _SERVER_SIDE.match(rejection.message):
        return ""
    if match := _TYPE.search(rejection.message):
        return f"{_short(match['field'])} {_EXPECTED[match['type']]}"
    if "quantities must match" in rejection.message:
        return "write quantities such as 500m, 2 or 10Gi"
    if _CONVERSION.search(rejection.message):
        return "a value has the wrong type: `kubectl explain` shows the fields of the kind"
    return ""


_EXPECTED: Final = {
    "string": "must be text: put quotes around the value in the template",
    "numeric": "must be a number: leave out quotes around the value in the template",
    "boolean": "must be true or false, without quotes in the template",
    "list": "must be a list: check dashes and indentation in the template",
    "map": "must be a mapping: check dashes and indentation in the template",
}


def _no_impersonation(rejection: _Rejection) -> str:
    match = _IMPERSONATE.search(rejection.message) if rejection.status == 403 else None
    if match is None:
        return ""
    if not match["namespace"]:
        return (
            "what acts on cluster-scoped objects needs tenancy.clusterScopedKinds of the chart; "
            "the plan then continues"
        )
    namespace, user = match["namespace"], _USER.search(rejection.message)
    let = f"let KUDO's reconciler act as the accounts of namespace {namespace}"
    if user is not None and not user["user"].startswith(_SERVICE_ACCOUNT):
        # Outside of the cluster, as a local one has it: no chart gives it rights.
        return (
            f"{let}: apply what `kubectl kudo rbac --namespace {namespace}` prints, with User "
            f"{user['user']} as its subject; the plan then continues"
        )
    return (
        f"{let}: apply what `kubectl kudo rbac --namespace {namespace}` prints, or add the "
        "namespace to tenancy.namespaces of the chart; the plan then continues"
    )


def _no_right_of_account(rejection: _Rejection) -> str:
    """Advise an account whose own rights are missing: its namespace gives them, not the chart."""
    user = _ACCOUNT.search(rejection.message) if rejection.status == 403 else None
    # A user who is quoted by a webhook, say, is not the one who sent this.
    if user is None or user["user"] != rejection.account:
        return ""
    match = _RIGHT.search(rejection.message)
    if match is None and _ESCALATION not in rejection.message:
        return ""
    what = "the permissions that it is to grant"
    if match is not None:
        what = f"permission to {match['verb']} {_resource(match)}"
    return (
        f"give ServiceAccount {user['account']} {what}: `kubectl kudo rbac --instance NAME "
        f"-n {user['namespace']}` prints all that the plans need; the plan then continues"
    )


def _blocks_its_owner(rejection: _Rejection) -> str:
    """Advise an account that may not set the owner reference of what it applies."""
    denied = rejection.status == 403 and _BLOCKS_OWNER in rejection.message
    if not denied or not rejection.account:
        return ""
    _, _, namespace, name = rejection.account.split(":", 3)
    return (
        f"give ServiceAccount {name} permission to update instances.kudo.dev/finalizers: "
        f"`kubectl kudo rbac --instance NAME -n {namespace}` prints all that the plans need; the "
        "plan then continues"
    )


def _no_right(rejection: _Rejection) -> str:
    match = _RIGHT.search(rejection.message) if rejection.status == 403 else None
    if match is None:
        return ""
    return (
        f"grant KUDO's reconciler permission to {match['verb']} {_resource(match)}, or all that a "
        "plan needs (get, list, watch, create, patch, delete), with a ClusterRole that has the "
        'label rbac.kudo.dev/aggregate-to-reconciler: "true"; the plan then continues'
    )


def _resource(right: re.Match[str]) -> str:
    return f"{right['resource']}.{right['group']}" if right["group"] else right["resource"]


def _escalation(rejection: _Rejection) -> str:
    if rejection.status != 403 or _ESCALATION not in rejection.message:
        return ""
    return "KUDO's reconciler can grant only permissions that it has: grant it these first"


def _quota(rejection: _Rejection) -> str:
    match = _QUOTA.search(rejection.message) if rejection.status == 403 else None
    if match is None:
        return ""
    # `failed quota` means that a value is missing; `exceeded quota` that it is too large.
    if match[0].startswith("failed"):
        return f"ResourceQuota {match['name']} requires these values: set them in the template"
    return (
        f"raise ResourceQuota {match['name']} or delete objects that it counts; "
        "the plan then continues"
    )


def _webhook_away(rejection: _Rejection) -> str:
    webhook = unreached_webhook(rejection.message) if rejection.status >= 500 else None
    if webhook is None:
        return ""
    behind = f" behind Service {webhook.namespace}/{webhook.service}" if webhook.service else ""
    return f"the plan continues as soon as webhook {webhook.name} answers: see its pods{behind}"


_RULES: Final[tuple[Callable[[_Rejection], str], ...]] = (
    # First match wins, so the rules for single accounts come before those for the reconciler.
    _immutable,
    _wrong_type,
    _no_impersonation,
    _no_right_of_account,
    _blocks_its_owner,
    _no_right,
    _escalation,
    _quota,
    _webhook_away,
)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_FIELD else f"{text[:_LONGEST_FIELD]}..."


_UNREACHED: Final = re.compile(
    r'failed calling webhook "(?P<name>[^"]{1,253})"'
    r'(?:[^\n]{0,100}?"https://(?P<service>[-a-z0-9]{1,63})\.(?P<namespace>[-a-z0-9]{1,63})\.svc\b)?'
)


@dataclass(frozen=True, slots=True)
class UnreachedWebhook:
    """A webhook; its Service and namespace are empty if it was called by an address."""

    name: str
    service: str = ""
    namespace: str = ""

    @property
    def is_of_kudo(self) -> bool:
        return self.name.endswith(f".{GROUP}")


def unreached_webhook(message: str) -> UnreachedWebhook | None:
    """Return the webhook that a request was refused for, since it does not answer; else None."""
    match = _UNREACHED.search(message)
    return UnreachedWebhook(**match.groupdict(default="")) if match else None
