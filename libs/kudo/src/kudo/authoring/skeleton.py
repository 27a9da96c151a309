"""The files of a new package: small, complete, and ready to be installed; and its templates."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kudo.api.names import EXTENDED
from kudo.authoring.archive import IGNORE_FILE
from kudo.authoring.first_case import CASE, Change, FirstCase
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE


@dataclass(frozen=True, slots=True)
class NewPackage:
    """What the author says of a new package; texts that are empty are left out."""

    name: str
    description: str = ""
    operator_version: str = "0.1.0"
    app_version: str = ""
    kudo_version: str = EXTENDED
    kubernetes_version: str = "1.30.0"
    url: str = ""
    maintainer_name: str = ""
    maintainer_email: str = ""


def skeleton(new: NewPackage) -> Mapping[str, str]:
    """Return the texts of the files by their path in the package."""
    return {
        OPERATOR_FILE: _operator(new),
        PARAMETERS_FILE: _PARAMETERS,
        "templates/deployment.yaml": _DEPLOYMENT,
        **{f"{CASE}/{name}": text for name, text in _CASE.files().items()},
        IGNORE_FILE: _IGNORE,
    }


def _operator(new: NewPackage) -> str:
    lines = [
        "# The plans of the operator. The parameters that users can set are in params.yaml, the",
        "# Kubernetes objects in templates/.",
        "apiVersion: kudo.dev/v1beta1",
        f"name: {_quoted(new.name)}",
        *_line("description", new.description),
        f"operatorVersion: {_quoted(new.operator_version)}",
        *_line("appVersion", new.app_version),
        *_line("kudoVersion", new.kudo_version),
        f"kubernetesVersion: {_quoted(new.kubernetes_version)}",
        *_line("url", new.url),
        *_maintainers(new),
    ]
    return "\n".join(lines) + _PLANS


def _maintainers(new: NewPackage) -> list[str]:
    fields = [*_line("name", new.maintainer_name), *_line("email", new.maintainer_email)]
    if not fields:
        return []
    first, *others = fields
    return ["maintainers:", f"  - {first}", *(f"    {field}" for field in others)]


def _line(key: str, value: str) -> list[str]:
    return [f"{key}: {_quoted(value)}"] if value else []


def _quoted(text: str) -> str:
    """Return a text in double quotes, as YAML and JSON have them."""
    return json.dumps(text, ensure_ascii=False)


_PLANS: Final = """

# A plan is a list of steps. A step applies templates and waits until the objects are healthy.
plans:
  # Runs when an instance is installed, and when a parameter changes that names no other plan.
  deploy:
    steps:
      - name: app
        apply:
          - deployment.yaml
"""
_PARAMETERS: Final = """\
# The parameters that users can set with `-p name=value`. A changed value runs the plan named by
# `trigger`, or `update`, or else `deploy`.
apiVersion: kudo.dev/v1beta1
parameters:
  - name: replicas
    displayName: Replicas
    description: How many servers run.
    type: integer
    default: "1"
  - name: image
    displayName: Image
    description: Image of the servers, with a web server in it.
    type: string
    default: busybox
"""
_DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Name }}
spec:
  replicas: {{ .Params.replicas }}
  selector:
    matchLabels:
      app: {{ .Name }}
  template:
    metadata:
      labels:
        app: {{ .Name }}
    spec:
      automountServiceAccountToken: false
      # As the first process of its container, httpd ignores the signal to end.
      terminationGracePeriodSeconds: 2
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        runAsGroup: 65534
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: app
          image: {{ .Params.image }}
          imagePullPolicy: IfNotPresent
          command: ["httpd", "-f", "-p", "8080", "-h", "/etc"]
          ports:
            - name: http
              containerPort: 8080
          readinessProbe:
            tcpSocket:
              port: http
            periodSeconds: 2
          resources:
            requests:
              cpu: 10m
              memory: 8Mi
            limits:
              memory: 32Mi
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: ["ALL"]
"""
_CASE: Final = FirstCase(
    values={},
    change=Change("replicas", "2", "deploy"),
    installed=(
        """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
status:
  readyReplicas: 1
""",
    ),
    changed=(
        """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
spec:
  replicas: 2
status:
  readyReplicas: 2
""",
    ),
    removed=(
        """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
""",
    ),
)
_IGNORE: Final = """\
# What `kubectl kudo package create` leaves out, in the syntax of .gitignore.
*.tgz
/golden/
/tests/
"""


_SUFFIX: Final = "SUFFIX"
"""Stands for the name of the template, so that two templates never define the same object."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")


def starter(kind: str, file: str) -> str:
    """Return a template of a kind of object.

    Args:
        kind: One of `KINDS`.
        file: Name of the template; the object is named after it and the Instance.
    """
    stem = file.lower().rpartition("/")[2].partition(".yaml")[0]
    suffix = _NOT_IN_NAMES.sub("-", stem).strip("-")
    return _TEXTS[kind].replace(f"-{_SUFFIX}", f"-{suffix}" if suffix else "")


_TEXTS: Final[Mapping[str, str]] = {
    "ConfigMap": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Name }}-SUFFIX
data:
  example: value
""",
    "Secret": """\
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Name }}-SUFFIX
stringData:
  # A value that users choose is a parameter: {{ "{{ .Params.NAME | quote }}" }}
  example: value
""",
    "Service": """\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Name }}
spec:
  selector:
    app: {{ .Name }}
  ports:
    - name: http
      port: 80
      targetPort: http
""",
    "Deployment": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Name }}-SUFFIX
spec:
  replicas: 1
  selector:
    matchLabels:
      app: {{ .Name }}-SUFFIX
  template:
    metadata:
      labels:
        app: {{ .Name }}-SUFFIX
    spec:
      containers:
        - name: app
          image: busybox
          command: ["sleep", "infinity"]
""",
    "Job": """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Name }}-SUFFIX
spec:
  backoffLimit: 3
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: job
          image: busybox
          command: ["true"]
""",
}
KINDS: Final = tuple(_TEXTS)
