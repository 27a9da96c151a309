"""What a worker process of the reconciler loads, before it is locked down and after."""

import json
import subprocess
import sys

# One text for each function that imports what it needs when it is called.
TEXTS = (
    "{{ bcrypt `x` }}{{ htpasswd `a` `b` }}",
    "{{ encryptAES `key` `x` | decryptAES `key` }}",
    "{{ derivePassword 1 `long` `x` `user` `site` }}",
    "{{ (genCAWithKey `ca` 1 (genPrivateKey `ecdsa`)).Cert }}",
    "{{ $ca := genCA `ca` 1 }}{{ (genSignedCert `a` (list `10.0.0.1`) (list `a.b`) 1 $ca).Key }}",
    "{{ (genSelfSignedCertWithKey `a` nil nil 1 (genPrivateKey `ecdsa`)).Cert }}",
    "{{ $ca := genCAWithKey `ca` 1 (genPrivateKey `ed25519`) }}{{ $ca.Key }}",
    "{{ regexReplaceAll `a(b)` `ab` `${1}` }}{{ regexQuoteMeta `a.b` }}",
    "{{ dateInZone `2006-01-02` now `Europe/Berlin` }}{{ toDate `2006` `2024` }}",
    "{{ semverCompare `^1.0` `1.2.3` }}{{ urlParse `http://a/b` }}{{ uuidv4 }}{{ randAlpha 3 }}",
    "{{ toYaml . }}{{ fromYaml `a: 1` }}{{ toPrettyJson . }}",
)
PROGRAM = """
import json, sys
import kudo.jobs
from gotemplate import Environment, TemplateError
kudo.jobs.prepare()
environment = Environment("sprig", "error")
first = set(sys.modules)
for text in json.load(sys.stdin):
    try:
        environment.parse("text", text).render({})
    except TemplateError:
        pass
print(json.dumps([sorted(first), sorted(set(sys.modules) - first)]))
"""


def loaded() -> tuple[set[str], list[str]]:
    """Return the modules of a worker at its start, and those that templates have added."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(TEXTS),
        capture_output=True,
        check=True,
        text=True,
    )
    first, later = json.loads(done.stdout)
    return set(first), later


def test_a_worker_starts_without_models_and_imports_nothing_once_it_is_locked_down() -> None:
    first, later = loaded()
    assert first.isdisjoint({"pydantic", "kudo.api.base", "importlib.resources"})
    assert later == []
