"""What is taken for a secret, and that no secret stays: in objects, texts and logs."""

import base64
import json
import string
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kudo.api.known_secrets import MARK, MOST_VALUES, KnownValues, is_sensitive
from kudo.redaction.objects import Redactor
from kudo.redaction.texts import parameters_of_secrets, redact_text

JsonObject = dict[str, Any]
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nDEFghi\n-----END RSA PRIVATE KEY-----"
SECRETS = st.text(string.ascii_letters + string.digits + "/+ü%&-_.~!", min_size=10, max_size=40)


def secret(**data: str) -> JsonObject:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": encoded}


def redacted(*objects: JsonObject) -> list[JsonObject]:
    redactor = Redactor()
    redactor.learn(objects)
    return [redactor.redact(obj) for obj in objects]


# Names


@pytest.mark.parametrize(
    "name",
    [
        *("password", "DB_PASSWORD", "dbPassword", "adminpasswd", "token", "authToken", "api-key"),
        *("client.secret", "aws_secret_access_key", "privateKey", "DB_PWD", "credentials"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_sensitive(name)


@pytest.mark.parametrize("word", ["passphrase", "credential", "access-key", "private-key"])
def test_a_word_means_a_secret_as_a_name_in_a_text_and_as_a_flag(word: str) -> None:
    assert is_sensitive(word)
    for text in (f"{word}: s3cr3t-value", f"run --{word} s3cr3t-value"):
        assert redact_text(text, KnownValues()) == text.replace("s3cr3t-value", MARK)


@pytest.mark.parametrize("word", ["ttl", "expiry", "length", "path"])
def test_a_word_after_it_means_a_reference_as_a_name_and_in_a_text(word: str) -> None:
    assert not is_sensitive(f"token_{word}")
    assert redact_text(f"token_{word}=3600s", KnownValues()) == f"token_{word}=3600s"


@pytest.mark.parametrize(
    "name",
    [
        *("secretName", "secretKeyRef", "tokenExpirationSeconds", "passwordFile", "topologyKey"),
        *("key", "name", "image", "PASSWORD_FILE", "token_type", "", "--", "keys"),
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_sensitive(name)


def test_a_key_is_secret_where_users_choose_the_name() -> None:
    assert is_sensitive("ENCRYPTION_KEY")
    assert is_sensitive("KEY", of_user=True)
    assert not is_sensitive("PUBLIC_KEY", of_user=True)
    assert not is_sensitive("MONKEY", of_user=True)


# Texts


def test_what_looks_like_a_secret_in_a_line() -> None:
    rows = [
        ("password=hunter2", f"password={MARK}"),
        ('{"password": "hunter2", "a": 1}', f'{{"password": "{MARK}", "a": 1}}'),
        (r"{\"token\":\"abcd1234\"}", rf"{{\"token\":{MARK}}}"),
        ("DB_PASSWORD: hunter2 and more", f"DB_PASSWORD: {MARK} and more"),
        ("start --password hunter2 --port 1", f"start --password {MARK} --port 1"),
        ("Authorization: Bearer abc.def-ghi", f"Authorization: Bearer {MARK}"),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: Basic {MARK}"),
        ("postgres://me:hunter2@db/x", f"postgres://me:{MARK}@db/x"),
        ("got eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln!", f"got {MARK}!"),
        ("id AKIAABCDEFGHIJKLMNOP", f"id {MARK}"),
        ("basic requirements are met", "basic requirements are met"),
        ("password: null, token=$TOKEN", "password: null, token=$TOKEN"),
        (".data.token: value mismatch, expected: x", ".data.token: value mismatch, expected: x"),
        ("secretName: tls, passwordFile=/run/x", "secretName: tls, passwordFile=/run/x"),
        (f"{PEM} rest".replace("\n", "\\n"), f"{MARK} rest"),
    ]
    assert [(line, redact_text(line, KnownValues())) for line, _ in rows] == rows


def test_a_private_key_goes_over_several_lines() -> None:
    shown = redact_text(f"before\n{PEM}\nafter", KnownValues())
    assert shown == f"before\n{MARK}\n{MARK}\n{MARK}\n\nafter"


@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_a_known_value_is_found_in_every_form(value: str, before: str, after: str) -> None:
    known = KnownValues()
    known.add(value)
    value = value.strip()
    whole = base64.b64encode(f"{before}{value}{after}".encode()).decode()
    text = f"{value} {quote(value, safe='')} {json.dumps({'x': value})} {whole}"
    shown = known.replace(text)
    assert value not in shown
    assert quote(value, safe="") not in shown
    assert whole not in shown


def test_short_values_are_replaced_as_words_and_the_shortest_not_at_all() -> None:
    known = KnownValues(public=["shop"])
    for value in ("4711", "ab", "shop", "true", "production"):
        known.add(value)
    assert known.replace("4711 x4711 ab shop true") == f"{MARK} x4711 ab shop true"


def test_a_certificate_is_no_secret() -> None:
    known = KnownValues()
    known.add("-----BEGIN CERTIFICATE-----\nMIIabcdefgh\n-----END CERTIFICATE-----")
    assert known.replace("MIIabcdefgh") == "MIIabcdefgh"


def test_the_number_of_values_is_limited() -> None:
    known = KnownValues()
    for number in range(MOST_VALUES):
        known.add(f"value-{number:06}")
    assert not known.overflow
    known.add("one-more")
    assert known.overflow


# Objects


@given(SECRETS, SECRETS)
def test_no_value_of_a_secret_stays_in_any_object(value: str, other: str) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "annotations": {"note": f"uses {value}"}},
        "data": {"file": f"a\nb {value}\n", "PASSWORD": other, "json": json.dumps({"x": [value]})},
    }
    event = {"apiVersion": "v1", "kind": "Event", "message": f"{other} is wrong"}
    for obj in redacted(config, secret(pin=value), event):
        text = yaml.safe_dump(obj, allow_unicode=True, width=2**20) + json.dumps(
            obj, ensure_ascii=False
        )
        for one in (value.strip(), other.strip()):
            assert one not in text
            assert base64.b64encode(one.encode()).decode().rstrip("=") not in text


def test_values_within_files_of_a_secret() -> None:
    registry = json.dumps({"auths": {"registry": {"auth": "dXNlcjpwYXNz", "n": 1234567890}}})
    env = "USER=someone-else\n# comment\nport: 12345678\nshort=abc\n"
    note = "someone-else dXNlcjpwYXNz 1234567890 12345678 abc comment"
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"note": note}}
    _, shown = redacted(secret(registry=registry, env=env), config)
    assert shown["data"]["note"] == f"{MARK} {MARK} {MARK} {MARK} abc comment"


def test_keys_of_a_secret_stay() -> None:
    (shown,) = redacted(secret(user="me", password="hunter2"))
    assert shown["data"] == {"user": MARK, "password": MARK}


def test_environment_arguments_and_volumes_of_a_pod() -> None:
    container = {
        "env": [
            {"name": "DB_PASSWORD", "value": "hunter2hunter2"},
            {"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "PLAIN", "value": "x"},
        ],
        "args": ["--token", "abcdefgh1", "--dsn=pg://me:hunter2hunter2@db", "-v"],
    }
    spec = {
        "containers": [container],
        "imagePullSecrets": [{"name": "registry"}],
        "automountServiceAccountToken": True,
        "volumes": [{"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}],
        "topologySpreadConstraints": [{"topologyKey": "zone"}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    (shown,) = redacted(pod)
    container["env"][0]["value"] = MARK  # type: ignore[index]
    container["args"] = ["--token", MARK, f"--dsn=pg://me:{MARK}@db", "-v"]
    assert shown == pod


def test_parameters_that_templates_put_into_secrets() -> None:
    template = """\
{{ $again := .Params.AGAIN }}
apiVersion: v1
kind: ConfigMap
data: {size: {{ .Params.SIZE }}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData:
  pin: "{{ .Params.PIN }}"
  other: {{ index .Params "OTHER" }}
  again: {{ $again }}
  literal: abracadabra
  long: |
    many words
"""
    assert parameters_of_secrets({"s.yaml": template}) == {"PIN", "OTHER", "AGAIN"}
    version = {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "spec": {
            "parameters": [
                {"name": "PIN", "default": "1234567"},
                {"name": "SIZE", "default": "7"},
            ],
            "templates": {"s.yaml": template},
        },
    }
    instance = {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {"name": "tea", "annotations": {"note": "abracadabra 7654321"}},
        "spec": {"parameters": {"PIN": "7654321", "SIZE": "8", "ADMIN_TOKEN": "tttttttt"}},
    }
    shown_version, shown = redacted(version, instance)
    assert shown["spec"]["parameters"] == {"PIN": MARK, "SIZE": "8", "ADMIN_TOKEN": MARK}
    assert shown["metadata"]["annotations"]["note"] == f"{MARK} {MARK}"
    assert [one["default"] for one in shown_version["spec"]["parameters"]] == [MARK, "7"]
    text = shown_version["spec"]["templates"]["s.yaml"]
    assert "many words" not in text
    assert 'pin: "{{ .Params.PIN }}"' in text
    assert f"literal: {MARK}" in text


def test_parameters_of_runs_are_redacted_as_all_others_are() -> None:
    template = 'kind: Secret\nstringData: {a: {{ .RunParams.CODE }}, b: {{ index .RunParams "B" }}}'
    declared = [{"name": "CODE", "default": "1234567"}, {"name": "TO", "default": "monday"}]
    version = {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "spec": {"plans": {"backup": {"parameters": declared}}, "templates": {"s.yaml": template}},
    }
    given = {"CODE": "7654321", "TO": "sunday", "B": "bbbbbbbb", "API_KEY": "kkkkkkkk"}
    hidden = {"CODE": MARK, "TO": "sunday", "B": MARK, "API_KEY": MARK}

    def instance(values: JsonObject, message: str) -> JsonObject:
        record = {"plan": "backup", "runParameters": values}
        status = {"runParameters": values, "message": message}
        return {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": "Instance",
            "spec": {"planExecution": {"planName": "backup", "parameters": values}},
            "status": {"planStatus": {"backup": status}, "history": [record]},
        }

    shown_version, shown = redacted(version, instance(given, "kkkkkkkk, bbbbbbbb, 7654321"))
    assert shown == instance(hidden, f"{MARK}, {MARK}, {MARK}")
    shown_defaults = shown_version["spec"]["plans"]["backup"]["parameters"]
    assert [one["default"] for one in shown_defaults] == [MARK, "monday"]


def test_fields_of_custom_resources_have_no_meaning_that_we_know() -> None:
    custom = {
        "apiVersion": "db.example.com/v1",
        "kind": "Database",
        "spec": {"credentials": {"user": "someone-else", "values": ["hunter2hunter2", 4711471]}},
    }
    (shown,) = redacted(custom)
    assert shown["spec"]["credentials"] == {"user": MARK, "values": [MARK, MARK]}


def test_what_repeats_the_object_is_left_out() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": '{"data": "hunter2"}'}
    metadata = {"name": "c", "annotations": annotations, "managedFields": [{}]}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    (shown,) = redacted(obj)
    assert "hunter2" not in str(shown)
    assert "managedFields" not in shown["metadata"]


def test_a_list_is_redacted_item_by_item() -> None:
    redactor = Redactor()
    listed = {"apiVersion": "v1", "kind": "SecretList", "items": [secret(pin="4711"), 7]}
    assert redactor.redact(listed)["items"][0]["data"] == {"pin": MARK}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_any_content_is_walked(content: object) -> None:
    redacted({"apiVersion": "x/v1", "kind": "Any", "spec": content, "data": {"k": content}})
    redacted({"apiVersion": "v1", "kind": "Secret", "data": content, "stringData": {"k": content}})


def test_nesting_is_limited() -> None:
    deep: Any = "hunter2"
    for _ in range(200):
        deep = [deep]
    (shown,) = redacted({"apiVersion": "v1", "kind": "Any", "spec": deep})
    assert "hunter2" not in str(shown)
