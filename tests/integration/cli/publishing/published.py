"""Packages in the shape of those that were published for KUDO 0.19; no tests of its own.

`gauge` names `stream` and `keeper`, which a repository has, and contains `uploader`. As in that
time: versions without quotes, numbers as defaults of texts, an array without default, an enum,
objects in API versions that are gone, and a kubernetesVersion of that time.
"""

from collections.abc import Mapping
from pathlib import Path

Texts = Mapping[str, str]
"""The files of a package by path."""

_PLANS = """\
plans:
  deploy:
    strategy: serial
    phases:
      - name: deploy
        strategy: serial
        steps:
"""
KEEPER: Texts = {
    "operator.yaml": """\
apiVersion: kudo.dev/v1beta1
name: keeper
operatorVersion: VERSION
appVersion: 3.4.14
kudoVersion: 0.10.1
kubernetesVersion: 1.15.0
maintainers:
- name: The authors
  email: authors@example.org
url: https://example.org/
tasks:
  - name: infra
    kind: Apply
    spec:
      resources:
        - services.yaml
        - pdb.yaml
  - name: app
    kind: Apply
    spec:
      resources:
        - statefulset.yaml
"""
    + _PLANS
    + """\
          - name: deploy
            tasks:
              - infra
              - app
""",
    "params.yaml": """\
apiVersion: kudo.dev/v1beta1
groups:
  - name: nodes
    displayName: Nodes
    prio: 10
parameters:
  - name: NODE_COUNT
    description: "Number of nodes"
    default: 3
    displayName: "Node Count"
    group: nodes
  - name: CPUS
    description: "CPUs of a node"
    default: "0.25"
  - name: MODE
    description: "How nodes speak to each other"
    default: plain
    enum:
      - plain
      - tls
  - name: TOLERATIONS
    description: "Tolerations of the pods"
    type: array
""",
    "templates/services.yaml": """\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Name }}-hs
  namespace: {{ .Namespace }}
spec:
  ports:
    - port: 2888
      name: server
  clusterIP: None
  selector:
    app: keeper
    instance: {{ .Name }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Name }}-settings
data:
  mode: {{ .Params.MODE }}
  count: "{{ .Params.NODE_COUNT }}"
  tolerations: "{{ range .Params.TOLERATIONS }}{{ .key }};{{ end }}"
""",
    "templates/pdb.yaml": """\
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata:
  name: {{ .Name }}-pdb
  namespace: {{ .Namespace }}
spec:
  selector:
    matchLabels:
      app: keeper
      instance: {{ .Name }}
  maxUnavailable: 1
""",
    "templates/statefulset.yaml": """\
apiVersion: apps/v1beta1
kind: StatefulSet
metadata:
  name: {{ .Name }}
  namespace: {{ .Namespace }}
spec:
  serviceName: {{ .Name }}-hs
  replicas: {{ .Params.NODE_COUNT }}
  podManagementPolicy: Parallel
  template:
    metadata:
      labels:
        app: keeper
        instance: {{ .Name }}
    spec:
      {{ if .Params.TOLERATIONS }}
      tolerations:
{{ toYaml .Params.TOLERATIONS | indent 8 }}
      {{ end }}
      containers:
        - name: keeper
          image: busybox
          resources:
            requests:
              cpu: {{ .Params.CPUS }}
""",
    "docs/README.md": "How to run it.\n",
}
STREAM: Texts = {
    "operator.yaml": """\
apiVersion: kudo.dev/v1beta1
name: stream
operatorVersion: "VERSION"
appVersion: "2.5.0"
kubernetesVersion: 1.15.0
tasks:
  - name: deploy
    kind: Apply
    spec:
      resources: [brokers.yaml]
"""
    + _PLANS
    + "          - {name: deploy, tasks: [deploy]}\n",
    "params.yaml": "parameters:\n  - {name: BROKER_COUNT, default: 3}\n  - {name: URI}\n",
    "templates/brokers.yaml": """\
apiVersion: extensions/v1beta1
kind: Deployment
metadata:
  name: {{ .Name }}-broker
spec:
  replicas: {{ .Params.BROKER_COUNT }}
  template:
    metadata:
      labels: {app: {{ .Name }}}
    spec:
      containers:
        - name: broker
          image: busybox
          env: [{name: URI, value: {{ .Params.URI }}}]
""",
}
UPLOADER: Texts = {
    "operator.yaml": """\
name: uploader
operatorVersion: 0.1.0
kubernetesVersion: 1.15.0
tasks:
  - {name: upload, kind: Apply, spec: {resources: [job.yaml]}}
"""
    + _PLANS
    + "          - {name: upload, tasks: [upload]}\n",
    "params.yaml": "apiVersion: kudo.dev/v1beta1\n",
    "templates/job.yaml": """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Name }}
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers: [{name: upload, image: busybox, command: ["true"]}]
""",
}
GAUGE: Texts = {
    "operator.yaml": """\
apiVersion: kudo.dev/v1beta1
name: gauge
operatorVersion: 0.1.4
kubernetesVersion: 1.17.0
tasks:
  - name: keeper
    kind: KudoOperator
    spec:
      package: keeper
      appVersion: 3.4.14
      operatorVersion: 0.3.0
  - name: stream
    kind: KudoOperator
    spec:
      package: stream
      parameterFile: stream-params.yaml
      instanceName: stream
  - name: uploader
    kind: KudoOperator
    spec:
      package: "./uploader"
"""
    + _PLANS
    + """\
          - {name: keeper, tasks: [keeper]}
          - {name: stream, tasks: [stream]}
          - {name: uploader, tasks: [uploader]}
""",
    "params.yaml": "apiVersion: kudo.dev/v1beta1\nparameters: []\n",
    "templates/stream-params.yaml": (
        'BROKER_COUNT: "1"\nURI: {{ .Name }}-keeper-0.{{ .Name }}-keeper-hs:2181\n'
    ),
    **{f"uploader/{path}": text for path, text in UPLOADER.items()},
}


def write(folder: Path, texts: Texts, *, version: str = "") -> None:
    """Write the files of a package."""
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace("VERSION", version))
