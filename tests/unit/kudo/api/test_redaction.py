"""What is said of a refused Secret. The answers are recorded from an API server 1.36.

The values `hunter2` and 4711 stand for secrets: they are in each answer, and come out of none.
"""

from typing import Any

import pytest

from kudo.api.known_secrets import is_secret
from kudo.api.redaction import Cause, ErrorText, redacted, without_quotes
from kudo.objects.typed_patch import mended

TYPED = "failed to create typed patch object (ns/x; /v1, Kind=Secret): "
CONVERTED = (
    "failed to convert new object (ns/x; /v1, Kind=Secret) to proper version: unable to convert "
    "unstructured object to /v1, Kind=Secret: "
)
GOT = "got &value.valueUnstructured{Value:"
LEFT_OUT = (
    "the rest of the answer is withheld, since it may quote the Secret; "
    "`kubectl apply --server-side --dry-run=server` shows it"
)
LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)
WEBHOOK = 'admission webhook "wh.example.org" denied the request'
Json = dict[str, Any]


def secret(**fields: object) -> Json:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, **fields}


def with_metadata(**fields: object) -> Json:
    return secret(metadata={"name": "x", **fields})


def invalid(field: str, message: str, reason: str = "FieldValueInvalid") -> ErrorText:
    return ErrorText(f'Secret "x" is invalid: {field}: {message}', (Cause(field, message, reason),))


CASES: dict[str, tuple[Json, ErrorText | str, str]] = {
    "a number": (
        secret(data={"pin": 4711}),
        f"{TYPED}.data.pin: expected string, {GOT}4711}}",
        "failed to create typed patch object: .data.pin: expected string",
    ),
    "a map": (
        secret(data={"pin": {"planted": "hunter2"}}),
        f'{TYPED}.data.pin: expected string, {GOT}map[string]interface {{}}{{"a":"hunter2"}}}}',
        "failed to create typed patch object: .data.pin: expected string",
    ),
    "a list": (
        secret(stringData={"pin": ["hunter2", 4711]}),
        f'{TYPED}.stringData.pin: expected string, {GOT}[]interface {{}}{{"hunter2", 4711}}}}',
        "failed to create typed patch object: .stringData.pin: expected string",
    ),
    "several": (
        secret(data={"a": 4711, "b.c": ["hunter2"]}),
        (
            f"{TYPED}errors:\n  .data.a: expected string, {GOT}4711}}\n"
            f'  .data.b.c: expected string, {GOT}[]interface {{}}{{"hunter2"}}}}'
        ),
        "failed to create typed patch object: .data.a: expected string; .data.b.c: expected string",
    ),
    "a text for all of data": (
        secret(data="hunter2"),
        f"{TYPED}.data: expected map, got &{{hunter2}}",
        "failed to create typed patch object: .data: expected map",
    ),
    "a text for all of data that looks like another fault": (
        secret(data="\n  .hunter2: expected string"),
        f"{TYPED}.data: expected map, got &{{\n  .hunter2: expected string}}",
        "failed to create typed patch object: .data: expected map",
    ),
    "a text for a boolean": (
        secret(immutable="hunter2"),
        f"{TYPED}.immutable: expected boolean, got &{{hunter2}}",
        "failed to create typed patch object: .immutable: expected boolean",
    ),
    "a label": (
        with_metadata(labels={"app.kubernetes.io/part-of": 4711}),
        f"{TYPED}.metadata.labels.app.kubernetes.io/part-of: expected string, {GOT}4711}}",
        (
            "failed to create typed patch object: .metadata.labels.app.kubernetes.io/part-of: "
            "expected string"
        ),
    ),
    "a finalizer": (
        with_metadata(finalizers=[4711]),
        f"{TYPED}.metadata.finalizers[=4711]: expected string, {GOT}4711}}",
        "failed to create typed patch object: .metadata.finalizers: not as the schema has it",
    ),
    "a finalizer twice": (
        with_metadata(finalizers=["a/hunter2", "a/hunter2"]),
        f'{TYPED}.metadata.finalizers: duplicate entries for key [="a/hunter2"]',
        "failed to create typed patch object: .metadata.finalizers: duplicate entries",
    ),
    "a field that the object does not have": (
        secret(),
        f"{TYPED}.hunter2: field not declared in schema",
        f"failed to create typed patch object: {LEFT_OUT}",
    ),
    "no base64": (
        secret(data={"ok": "aGV5\n", "none": None, "pin": "hunter2!!"}),
        f"{CONVERTED}error decoding from json: illegal base64 data at input byte 7 (hunter2)",
        "failed to convert new object: illegal base64 data in data.pin",
    ),
    "a time": (
        with_metadata(creationTimestamp="hunter2"),
        f'{CONVERTED}parsing time "hunter2" as "2006-01-02T15:04:05Z07:00"',
        f"failed to convert new object: {LEFT_OUT}",
    ),
    "no base64, by a creation": (
        secret(data={"pin": "hunter2!"}),
        'Secret in version "v1" cannot be handled as a Secret: illegal base64 data (hunter2)',
        "failed to convert new object: illegal base64 data in data.pin",
    ),
    "a key": (
        secret(data={"a b": ""}),
        invalid(
            "data[a b]",
            'Invalid value: "hunter2": a valid config key must consist of alphanumeric '
            "characters, '-', '_' or '.' (e.g. 'key.name')",
        ),
        (
            "Secret is invalid: data[a b]: Invalid value: a valid config key must consist of "
            "alphanumeric characters, '-', '_' or '.'"
        ),
    ),
    "a long key": (
        secret(data={"k" * 300: ""}),
        invalid(f"data[{'k' * 300}]", 'Invalid value: "hunter2": must be no more than 253 bytes'),
        f"Secret is invalid: data[{'k' * 115}...: Invalid value: must be no more than 253 bytes",
    ),
    "a value of a label": (
        with_metadata(labels={"a": "hunter2!!"}),
        invalid("metadata.labels", f'Invalid value: "hunter2!!": {LABEL}'),
        (
            "Secret is invalid: metadata.labels: Invalid value: a valid label must be an empty "
            "string or consist of alphanumeric characters"
        ),
    ),
    "contents that the API server hides itself, but for a letter": (
        secret(),
        invalid(
            "data[.dockerconfigjson]",
            "Invalid value: \"<secret contents redacted>\": invalid character 'hunter2' looking "
            "for beginning of value",
        ),
        "Secret is invalid: data[.dockerconfigjson]: Invalid value",
    ),
    "a Secret that is immutable": (
        secret(),
        invalid(
            "data", "Forbidden: field is immutable when `immutable` is set", "FieldValueForbidden"
        ),
        "Secret is invalid: data: Forbidden: field is immutable when `immutable` is set",
    ),
    "a Secret that is too large": (
        secret(),
        invalid("data", "Too long: may not be more than 1048576 bytes", "FieldValueTooLong"),
        "Secret is invalid: data: Too long: may not be more than 1048576 bytes",
    ),
    "a webhook": (
        secret(),
        ErrorText(
            f"{WEBHOOK}: hunter2 is too short",
            (Cause("data.pin=hunter2", "hunter2", "FieldValueInvalid"),),
        ),
        f"{WEBHOOK}; {LEFT_OUT}",
    ),
    "a policy": (
        secret(),
        (
            "secrets \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
            "request: hunter2 is too short"
        ),
        (
            "secrets \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
            f"request; {LEFT_OUT}"
        ),
    ),
    "a webhook that is away": (
        secret(),
        'Internal error occurred: failed calling webhook "wh.example.org": hunter2',
        'Internal error occurred: failed calling webhook "wh.example.org"',
    ),
    "a missing right": (
        secret(),
        (
            'secrets "x" is forbidden: User "u" cannot patch resource "secrets" in API group "" in '
            'the namespace "ns": hunter2'
        ),
        (
            'secrets "x" is forbidden: User "u" cannot patch resource "secrets" in API group "" in '
            'the namespace "ns"'
        ),
    ),
    "a missing right to impersonate": (
        secret(),
        (
            'serviceaccounts.authentication.k8s.io "bob" is forbidden: User "u" cannot '
            'impersonate:serviceaccount resource "serviceaccounts" in API group '
            '"authentication.k8s.io" in the namespace "ns": hunter2'
        ),
        (
            'serviceaccounts.authentication.k8s.io "bob" is forbidden: User "u" cannot '
            'impersonate:serviceaccount resource "serviceaccounts" in API group '
            '"authentication.k8s.io" in the namespace "ns"'
        ),
    ),
    "a missing right to do something as somebody": (
        secret(),
        (
            'secrets is forbidden: User "u" cannot impersonate-on:serviceaccount:list resource '
            '"secrets" in API group "" in the namespace "ns": hunter2'
        ),
        (
            'secrets is forbidden: User "u" cannot impersonate-on:serviceaccount:list resource '
            '"secrets" in API group "" in the namespace "ns"'
        ),
    ),
    "a missing right to impersonate, of old": (
        secret(),
        (
            'User "u" cannot impersonate resource "serviceaccounts" in API group "" in the '
            'namespace "ns": hunter2'
        ),
        (
            'User "u" cannot impersonate resource "serviceaccounts" in API group "" in the '
            'namespace "ns"'
        ),
    ),
    "a quota": (
        secret(),
        'secrets "x" is forbidden: exceeded quota: q, requested: hunter2',
        'secrets "x" is forbidden: exceeded quota: q',
    ),
    "a namespace that is not there": (
        secret(),
        'namespaces "nope" not found',
        'namespaces "nope" not found',
    ),
    "an object that has changed": (
        secret(),
        (
            'Operation cannot be fulfilled on secrets "x": the object has been modified; please '
            "apply your changes to the latest version and try again"
        ),
        (
            'Operation cannot be fulfilled on secrets "x": the object has been modified; please '
            "apply your changes to the latest version and try again"
        ),
    ),
    "fields of others": (
        with_metadata(finalizers=["a/hunter2"]),
        ErrorText(
            'Apply failed with 1 conflict: conflict with "them": .metadata.finalizers[="hunter2"]',
            (
                Cause(
                    '.metadata.finalizers[="hunter2"]',
                    'conflict with "them" using v1',
                    "FieldManagerConflict",
                ),
            ),
        ),
        "Apply failed with 1 conflict",
    ),
    "anything else": (secret(), "hunter2 is no good", LEFT_OUT),
}


def words(said: ErrorText | str) -> ErrorText:
    return said if isinstance(said, ErrorText) else ErrorText(said, ())


def test_an_answer_about_a_secret_names_fields_and_quotes_no_values(
    subtests: pytest.Subtests,
) -> None:
    for sent, said, told in CASES.values():
        with subtests.test(sent=sent, said=said, told=told):
            found = redacted(words(said), sent)

            assert found.message == told
            assert "hunter2" not in repr(found)
            assert "4711" not in repr(found)


def test_an_answer_about_another_kind_is_told_as_it_is(subtests: pytest.Subtests) -> None:
    for sent, said in [case[:2] for case in CASES.values()]:
        with subtests.test(sent=sent, said=said):
            config_map = {**sent, "kind": "ConfigMap"}

            assert redacted(words(said), config_map) == words(said)


def test_who_owns_the_fields_of_a_secret_is_told() -> None:
    said = words(CASES["fields of others"][1])

    (cause,) = redacted(said, CASES["fields of others"][0]).causes

    assert cause == Cause(
        ".metadata.finalizers[...]", 'conflict with "them"', "FieldManagerConflict"
    )


def test_a_secret_is_one_of_the_core_group() -> None:
    assert is_secret({"apiVersion": "v1", "kind": "Secret"})
    assert not is_secret({"apiVersion": "example.org/v1", "kind": "Secret"})
    assert not is_secret({"apiVersion": "v1", "kind": "ConfigMap"})


def test_what_is_mended_in_a_secret_is_told_without_values() -> None:
    sent = with_metadata(finalizers=["a/hunter2", "a/hunter2"])

    found = mended(sent, f'{TYPED}.metadata.finalizers: duplicate entries for key [="a/hunter2"]')

    assert found is not None
    assert [note.text for note in found.notes] == [
        "metadata.finalizers has several items with one key: the last is used"
    ]


def test_what_is_left_out_of_an_item_of_a_secret_is_told_without_its_key() -> None:
    sent = with_metadata(ownerReferences=[{"uid": "hunter2", "bogus": 1}])

    found = mended(
        sent, f'{TYPED}.metadata.ownerReferences[uid="hunter2"].bogus: field not declared in schema'
    )

    assert found is not None
    assert [note.text for note in found.notes] == [
        "unknown field metadata.ownerReferences[...] is left out"
    ]


def test_what_a_yaml_parser_quotes_is_left_out(subtests: pytest.Subtests) -> None:
    table = [
        ("line 1, column 9: unknown anchor 'hunter2' referenced", "unknown anchor ... referenced"),
        ("line 1, column 1: anchor 'hun'ter2' value contains itself", "value contains itself"),
        ("line 1, column 1: cannot decode !!str `hunter2` as a !!int", "!!str ... as a !!int"),
        ("line 1, column 1: unsupported value: hunter2", "unsupported value: ..."),
        ("line 1, column 1: could not find expected ':'", "could not find expected ':'"),
    ]
    for problem, told in table:
        with subtests.test(problem=problem, told=told):
            found = without_quotes(problem)

            assert found.endswith(told)
            assert "hunter2" not in found


def test_of_many_faults_the_first_twenty_fields_are_named() -> None:
    names = {f"a.{number}": 4711 for number in range(2000)}
    faults = "".join(f"\n  .data.{name}: expected string, {GOT}4711}}" for name in names)

    found = redacted(ErrorText(f"{TYPED}errors:{faults}", ()), secret(data=names))

    assert found.message.count("expected string") == 20
    assert "Value" not in found.message
