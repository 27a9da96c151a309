"""Templates to start from, one for each kind of object."""

from collections.abc import Mapping
from typing import Final

STARTERS: Final[Mapping[str, str]] = {
    "ConfigMap": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Name }}-settings
data:
  example: value
""",
    "Secret": """\
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Name }}-secret
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
  name: {{ .Name }}
spec:
  replicas: 1
  selector:
    matchLabels:
      app: {{ .Name }}
  template:
    metadata:
      labels:
        app: {{ .Name }}
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
  name: {{ .Name }}-job
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
