"""An operator of KUDO 0.19 with what a take-over can damage, and how its objects look.

The Deployment `web` mounts the ConfigMap `configdata` whose hashes are recorded, `other` mounts one
that stays, and `keyed` mounts a Secret. Whatever EXTRA puts into the objects has to vanish without
it.
"""

from collections.abc import Mapping, Sequence

from tests.integration.takeover.original import content_text, hash_over
from tests.support import build
from tests.support.build import Json

HASHES_OF_WEB = {
    "FancyValue": "6fa812afe527bdb6c9a5fbfcba8193bb",
    "ChangedValue": "da9f56a62d3c4af2596bebace008d845",
}
"""Recorded: the hash by the value of `valueA`."""
HASH_OF_OTHER = hash_over(content_text("steady", before="  data:\n    a: b\n"))
HASH_OF_KEYED = hash_over(
    content_text("access", after="  stringData:\n    token: secret\n    user: kudo\n")
)
HASHES = {
    "web": HASHES_OF_WEB["FancyValue"],
    "other": HASH_OF_OTHER,
    "keyed": HASH_OF_KEYED,
}

_CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: configdata
data:
  valueA: {{ .Params.VALUE_A }}
  valueB: OtherFancyValue
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: steady
data:
  a: b
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: loose
  labels:
    kept: "yes"
{{- if eq .Params.EXTRA "yes" }}
    dropped: "yes"
  annotations:
    dropped: "yes"
{{- end }}
data:
  kept: a
{{- if eq .Params.EXTRA "yes" }}
  dropped: b
{{- end }}
---
apiVersion: v1
kind: Secret
metadata:
  name: access
stringData:
  user: kudo
{{- if eq .Params.EXTRA "yes" }}
  token: secret
{{- end }}
"""
_WEB = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: main
        image: busybox
        ports:
        - containerPort: 80
        env:
        - {name: MODE, value: "a"}
{{- if eq .Params.EXTRA "yes" }}
        - {name: DEBUG, value: "1"}
      - name: sidecar
        image: busybox
{{- end }}
      volumes:
      - name: config
        configMap: {name: configdata}
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports:
  - {name: http, port: 80}
{{- if eq .Params.EXTRA "yes" }}
  - {name: metrics, port: 9090}
{{- end }}
"""


def small_deployment(name: str, *lines: str, replicas: str = "  replicas: 1\n") -> str:
    """Return a template of a Deployment; the lines are those of its volumes."""
    volumes = "".join(f"      {line}\n" for line in ("volumes:", *lines)) if lines else ""
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n{replicas}"
        f"  selector:\n    matchLabels: {{app: {name}}}\n  template:\n    metadata:\n"
        f"      labels: {{app: {name}}}\n    spec:\n      containers:\n      - name: main\n"
        f"        image: busybox\n{volumes}"
    )


_OTHER = small_deployment("other", "- name: config", "  configMap: {name: steady}")
_KEYED = small_deployment("keyed", "- name: access", "  secret: {secretName: access}")
_SCALED = small_deployment("scaled", replicas="")
_STORE = """
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: store
spec:
  replicas: 2
  serviceName: store
  podManagementPolicy: Parallel
  selector:
    matchLabels: {app: store}
  template:
    metadata:
      labels: {app: store}
    spec:
      containers:
      - {name: main, image: busybox}
"""
TEMPLATES = {
    "config.yaml": _CONFIG,
    "web.yaml": _WEB,
    "small.yaml": "\n---\n".join((_OTHER, _KEYED, _SCALED)),
    "store.yaml": _STORE,
}
WORKLOADS = ("web.yaml", "small.yaml", "store.yaml")


def applying(name: str, *resources: str) -> Json:
    return {"name": name, "kind": "Apply", "spec": {"resources": list(resources)}}


def version_of_old(
    name: str = "0.1.0",
    *,
    templates: Mapping[str, str] = TEMPLATES,
    deploy: Sequence[str] = ("config.yaml", *WORKLOADS),
    **plans: Sequence[str],
) -> Json:
    """Return a version of the operator; each plan is one task that applies these templates."""
    files = {"deploy": deploy, **plans}
    version = build.operator_version(
        f"dep-operator-{name}",
        templates=templates,
        tasks=[applying(one, *resources) for one, resources in files.items()],
        plans={one: build.plan({"all": [one]}) for one in files},
        parameters=[build.parameter("VALUE_A", "FancyValue"), build.parameter("EXTRA", "yes")],
        operator="dep-operator",
    )
    version["spec"]["version"] = name
    return version
