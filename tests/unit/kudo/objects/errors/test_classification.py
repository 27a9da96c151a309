"""Refusals of the API server: fatal is what stays refused. The texts are Kubernetes 1.36's."""

from kudo.objects.api_errors import is_fatal

Answer = tuple[int, str, str, tuple[str, ...]]

WEBHOOK = 'admission webhook "wh.example.org" denied the request'
CALLING = (
    'Internal error occurred: failed calling webhook "wh.example.org": failed to call webhook: '
)
POLICY = "ValidatingAdmissionPolicy 'vap1' with binding 'vap1' denied request: no bad data"
TYPED = "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): "
CONVERT = (
    "failed to convert new object (default/d; apps/v1, Kind=Deployment) to proper version: "
    "unable to convert unstructured object to apps/v1, Kind=Deployment: "
)

FATAL: dict[str, Answer] = {
    "a wrong type": (
        500,
        "InternalError",
        f"{TYPED}.spec.replicas: expected numeric (int or float), got string",
        (),
    ),
    "a wrong type, as API servers before 1.22 say it": (
        500,
        "InternalError",
        "failed to create typed patch object: .spec.replicas: expected numeric, got string",
        (),
    ),
    "a fraction for an integer": (
        500,
        "InternalError",
        f"{CONVERT}cannot convert float64 to int32",
        (),
    ),
    "a quantity that is none": (
        500,
        "InternalError",
        (
            f"{CONVERT}quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ),
        (),
    ),
    "data that is no base64": (
        500,
        "InternalError",
        (
            "failed to convert new object (default/x; /v1, Kind=Secret) to proper version: unable "
            "to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal "
            "base64 data at input byte 0"
        ),
        (),
    ),
    "more than 1.5 MiB": (500, "InternalError", "etcdserver: request is too large", ()),
    "more than 2 MiB": (
        500,
        "InternalError",
        (
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max "
            "(2097722 vs. 2097152)"
        ),
        (),
    ),
    "more than 3 MiB": (
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
        (),
    ),
    "a ConfigMap of more than 1 MiB": (
        422,
        "Invalid",
        'ConfigMap "big" is invalid: []: Too long: may not be more than 1048576 bytes',
        ("FieldValueTooLong",),
    ),
    "an immutable field": (
        422,
        "Invalid",
        'Job.batch "j" is invalid: spec.completions: Invalid value: 3: field is immutable',
        ("FieldValueInvalid",),
    ),
    "text that is no YAML": (
        400,
        "BadRequest",
        (
            "error decoding YAML: error converting YAML to JSON: yaml: control characters are not "
            "allowed"
        ),
        (),
    ),
    "an object without a name": (
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        (),
    ),
    "an unknown patch": (415, "UnsupportedMediaType", "415: Unsupported Media Type", ()),
    "a namespace that does not exist": (404, "NotFound", 'namespaces "nope" not found', ()),
    "a namespace that is being deleted": (
        403,
        "Forbidden",
        (
            'configmaps "new" is forbidden: unable to create new content in namespace term because '
            "it "
            "is being terminated"
        ),
        ("NamespaceTerminating",),
    ),
    "fields of other managers": (
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "other": .data.a',
        ("FieldManagerConflict",),
    ),
    "a policy's Forbidden": (403, "Forbidden", f'configmaps "v" is forbidden: {POLICY}', ("",)),
    "a policy's Invalid": (422, "Invalid", f'configmaps "v" is forbidden: {POLICY}', ("",)),
    "a denial": (403, "Forbidden", f"{WEBHOOK}: go away", ()),
    "a denial without explanation": (400, "BadRequest", f"{WEBHOOK} without explanation", ()),
    "a denial with causes": (422, "Invalid", f"{WEBHOOK}: inv", ("FieldValueInvalid",)),
    "a denial with a reason of its own": (403, "ParameterImmutable", f"{WEBHOOK}: no", ()),
}

PASSING: dict[str, Answer] = {
    "credentials that ran out": (401, "Unauthorized", "Unauthorized", ()),
    "a missing right": (
        403,
        "Forbidden",
        (
            'configmaps "z" is forbidden: User "kudo-user" cannot patch resource "configmaps" in '
            'API group "" in the namespace "default"'
        ),
        (),
    ),
    "a quota": (
        403,
        "Forbidden",
        (
            'configmaps "qb" is forbidden: exceeded quota: few, requested: configmaps=1, used: '
            "configmaps=2, limited: configmaps=2"
        ),
        (),
    ),
    "a service account that is not there yet": (
        403,
        "Forbidden",
        (
            'pods "posa" is forbidden: error looking up service account default/nope: '
            'serviceaccount "nope" not found'
        ),
        (),
    ),
    "our own policy, while a plan runs": (
        403,
        "Forbidden",
        (
            "instances.kudo.dev \"i\" is forbidden: ValidatingAdmissionPolicy 'kudo-instances' "
            "with binding 'kudo-instances' denied request: PlanRunning: an upgrade while a plan is "
            "scheduled (or running) is not allowed"
        ),
        (),
    ),
    "a policy that is not there yet": (
        403,
        "Forbidden",
        'configmaps "v" is forbidden: not yet ready to handle request',
        (),
    ),
    "a quota named like a denial": (
        403,
        "Forbidden",
        f'configmaps "v" is forbidden: exceeded quota: {WEBHOOK}',
        (),
    ),
    "an object that was changed": (
        409,
        "Conflict",
        (
            'Operation cannot be fulfilled on configmaps "c": the object has been modified; please '
            "apply your changes to the latest version and try again"
        ),
        (),
    ),
    "an object that was deleted": (
        409,
        "Conflict",
        (
            'Operation cannot be fulfilled on configmaps "re": uid mismatch: the provided object '
            "specified uid 207386b1-efc7-44db-92b8-1d96df5a35d0, and no existing object was found"
        ),
        (),
    ),
    "an object that somebody else created": (
        409,
        "AlreadyExists",
        'configmaps "c" already exists',
        (),
    ),
    "a kind that another API server serves already": (
        404,
        "NotFound",
        "the server could not find the requested resource",
        (),
    ),
    "too many requests": (429, "TooManyRequests", "too many requests, please try again later", ()),
    "a slow etcd": (500, "InternalError", "etcdserver: request timed out", ()),
    "a full etcd": (
        500,
        "InternalError",
        "etcdserver: mvcc: database space exceeded",
        (),
    ),
    "a webhook that is away": (
        500,
        "InternalError",
        (
            f'{CALLING}Post "https://127.0.0.1:1/x?timeout=2s": dial tcp 127.0.0.1:1: connect: '
            "connection refused"
        ),
        ("",),
    ),
    "a webhook that fails and quotes a denial": (
        500,
        "InternalError",
        (
            f'{CALLING}an error on the server ("boom denied the request") has prevented the '
            "request "
            "from succeeding"
        ),
        ("",),
    ),
    "a webhook that fails and quotes a schema error": (
        500,
        "InternalError",
        f'{CALLING}an error on the server ("{TYPED}") has prevented the request from succeeding',
        ("",),
    ),
    "a conversion webhook that is away": (
        500,
        "InternalError",
        (
            'conversion webhook for x.example.org/v2, Kind=Conv failed: Post "https://127.0.0.1:1/c'
            '?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused'
        ),
        (),
    ),
    "a bad gateway": (502, "BadGateway", "", ()),
    "an aggregated API that is away": (
        503,
        "ServiceUnavailable",
        "the server is currently unable to handle the request",
        (),
    ),
    "a server that gave up": (504, "Timeout", "", ()),
    "a webhook that could not decide": (500, "InternalError", f"{WEBHOOK}: internal", ()),
    "a webhook that is busy": (503, "ServiceUnavailable", f"{WEBHOOK}: busy", ()),
    "a webhook that wants less": (429, "TooManyRequests", f"{WEBHOOK}: slow", ()),
    "a webhook that met a conflict": (409, "Conflict", f"{WEBHOOK}: conflict", ()),
    "a running plan": (403, "PlanRunning", f"{WEBHOOK}: later", ()),
    "a running plan among the causes": (403, "Forbidden", f"{WEBHOOK}: later", ("PlanRunning",)),
    "a webhook configuration that is missing": (
        403,
        "MutatingWebhookMissing",
        f"{WEBHOOK}: no",
        (),
    ),
}


def test_what_stays_refused_is_fatal() -> None:
    for case in FATAL:
        assert is_fatal(*FATAL[case])


def test_what_may_pass_is_tried_again() -> None:
    for case in PASSING:
        assert not is_fatal(*PASSING[case])
