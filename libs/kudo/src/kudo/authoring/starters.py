"""Templates to start from, one for each kind of object."""

import re
from collections.abc import Mapping
from typing import Final

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
