"""Packages for the commands, beside those of `examples/`: small ones, and two that are broken."""

from pathlib import Path

TEAPOT = {
    "operator.yaml": """\
apiVersion: kudo.dev/v1beta1
name: teapot
description: Makes tea.
operatorVersion: 0.3.0
appVersion: 2.1.0
kubernetesVersion: 1.22.0
maintainers:
  - {name: Jane Roe, email: jane@example.org}
url: https://example.org/teapot
tasks:
  - name: pot
    kind: Apply
    spec: {resources: [pot.yaml]}
plans:
  deploy:
    phases:
      - name: main
        steps:
          - {name: app, tasks: [pot]}
  brew:
    phases:
      - name: main
        steps:
          - {name: app, tasks: [pot]}
""",
    "params.yaml": """\
apiVersion: kudo.dev/v1beta1
parameters:
  - {name: CUPS, type: integer, default: "2", description: How many cups., trigger: brew}
  - {name: TEA, description: "Which tea, as a name.", displayName: Tea}
  - {name: SIZE, default: small, enum: [small, large], immutable: true}
""",
    "templates/pot.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: pot}
data:
  cups: "{{ .Params.CUPS }}"
  tea: "{{ .Params.TEA }}"
  size: "{{ .Params.SIZE }}"
""",
}
MISTAKEN = {
    "operator.yaml": """\
apiVersion: kudo.dev/v1beta1
name: mistaken
operatorVersion: one
kubernetesVersion: 1.22.0
colour: blue
tasks:
  - {name: pot, kind: Apply, spec: {resources: [pot.yaml, absent.yaml]}}
  - {name: idle, kind: Dummy, spec: {done: true}}
  - {name: odd, kind: Brew}
plans:
  deploy:
    strategy: sometimes
    phases:
      - name: main
        steps:
          - {name: app, tasks: [pot, nothing, odd]}
          - {name: app, tasks: []}
""",
    "params.yaml": """\
apiVersion: kudo.dev/v1beta1
parameters:
  - {name: CUPS, type: integer, default: many, trigger: brew}
  - {name: UNUSED, default: yes}
""",
    "templates/pot.yaml": """\
apiVersion: extensions/v1beta1
kind: Ingress
metadata: {name: Pot}
data: {cups: {{ .Params.CUPS }}, tea: "{{ .Params.TEA }}"}
""",
    "templates/broken.yaml": "a: {{ if }}\n",
}
SCHEMA = """\
{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "required": ["listen"],
  "definitions": {"port": {"type": "integer", "minimum": 1, "maximum": 65535}},
  "properties": {
    "CUPS": {"type": "integer", "default": 2, "maximum": 4},
    "image": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "repository": {"type": "string", "default": "teapot", "minLength": 1},
        "pullPolicy": {"enum": ["Always", "IfNotPresent"], "default": "IfNotPresent"}
      }
    },
    "listen": {"type": "array", "items": {"$ref": "#/definitions/port"}},
    "password": {"type": "string", "pattern": "^(?=.*[0-9]).+$", "description": "Of the admin."},
    "strength": {"type": "number", "exclusiveMinimum": 0, "default": 0.5}
  },
  "if": {"required": ["password"]},
  "then": {"required": ["listen"]}
}
"""
UNREADABLE = {"operator.yaml": "name: [teapot\n", "params.yaml": "parameters: 3\n"}


def write(folder: Path) -> None:
    """Write them into a folder."""
    newer = {**TEAPOT, "operator.yaml": TEAPOT["operator.yaml"].replace("0.3.0", "0.4.0")}
    found = {"teapot": TEAPOT, "newer": newer, "mistaken": MISTAKEN, "unreadable": UNREADABLE}
    for name, files in found.items():
        for path, text in files.items():
            file = folder / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    (folder / "empty").mkdir()
    (folder / "values.schema.json").write_text(SCHEMA)
    (folder / "values.yaml").write_text("CUPS: 4\nTEA: mint\n")
