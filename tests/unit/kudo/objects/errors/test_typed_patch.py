"""Objects that do not fit the schema of their kind are mended. The texts are Kubernetes 1.36's."""

import copy
import json

import pytest

from kudo.api import Json, JsonObject
from kudo.objects.typed_patch import Note, mended

POD = ".spec.template.spec"
MAIN = f'{POD}.containers[name="main"]'
SAID = {
    "Deployment": "failed to create typed patch object (default/x; apps/v1, Kind=Deployment): ",
    "ConfigMap": "failed to create typed patch object (default/x; /v1, Kind=ConfigMap): ",
    "Service": "failed to create typed patch object (default/x; /v1, Kind=Service): ",
    "Thing": "failed to create typed patch object (default/x; x.example.org/v1, Kind=Thing): ",
}


def deployment(**pod: Json) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"template": {"spec": {"containers": [{"name": "main"}], **pod}}},
    }


def main(**container: Json) -> JsonObject:
    return deployment(containers=[{"name": "side"}, {"name": "main", **container}])


def service(*ports: Json) -> JsonObject:
    return {"kind": "Service", "spec": {"ports": list(ports)}}


def thing(**spec: Json) -> JsonObject:
    return {"kind": "Thing", "metadata": {"name": "x"}, "spec": spec}


def finalizers(*names: str) -> JsonObject:
    return {"kind": "ConfigMap", "metadata": {"finalizers": list(names)}}


def errors(*faults: str) -> str:
    return "\n  ".join(("errors:", *faults))


UNKNOWN = ": field not declared in schema"
UNKNOWN_FIELDS: dict[str, tuple[JsonObject, str, JsonObject, list[str]]] = {
    "at the top": (
        {"kind": "ConfigMap", "spec": {"a": 1}, "data": {}},
        f".spec{UNKNOWN}",
        {"kind": "ConfigMap", "data": {}},
        ["spec"],
    ),
    "in an item": (
        main(imagePulPolicy="Always", image="x"),
        f"{MAIN}.imagePulPolicy{UNKNOWN}",
        main(image="x"),
        ['spec.template.spec.containers[name="main"].imagePulPolicy'],
    ),
    "that is null": (
        thing(size=1, bogus=None),
        f".spec.bogus{UNKNOWN}",
        thing(size=1),
        ["spec.bogus"],
    ),
    "in an item with a key of two fields, one of them by default": (
        main(ports=[{"containerPort": 80, "proto": "TCP"}, {"containerPort": 81, "proto": 1}]),
        f'{MAIN}.ports[containerPort=80,protocol="TCP"].proto{UNKNOWN}',
        main(ports=[{"containerPort": 80}, {"containerPort": 81, "proto": 1}]),
        [
            (
                'spec.template.spec.containers[name="main"].ports[containerPort=80,protocol="TCP"]'
                ".proto"
            )
        ],
    ),
    "in an item with a number": (
        deployment(tolerations=[{"key": "a", "foo": 1}, {"key": "b", "foo": 2}]),
        f"{POD}.tolerations[1].foo{UNKNOWN}",
        deployment(tolerations=[{"key": "a", "foo": 1}, {"key": "b"}]),
        ["spec.template.spec.tolerations[1].foo"],
    ),
    "at several places": (
        thing(size=1, bogus=1, amap={"a.b": {"x": "1", "y": 1}}, list=[{"a": 1}, {"b.c": 1}]),
        errors(
            f".spec.amap.a.b.y{UNKNOWN}", f".spec.list[1].b.c{UNKNOWN}", f".spec.bogus{UNKNOWN}"
        ),
        thing(size=1, amap={"a.b": {"x": "1"}}, list=[{"a": 1}, {}]),
        ["spec.amap.a.b.y", "spec.list[1].b.c", "spec.bogus"],
    ),
    "named with dots, quotes and line breaks": (
        thing(**{'a.b"c\nd: .x.y': 1, "a": {"b": 2}}),
        f'.spec.a.b"c\nd: .x.y{UNKNOWN}',
        thing(a={"b": 2}),
        ['spec.a.b"c d: .x.y'],
    ),
    "named like a fault": (
        thing(**{".spec.size: field not declared in schema": 1, "size": 1}),
        f".spec..spec.size{UNKNOWN}{UNKNOWN}",
        thing(size=1),
        ["spec..spec.size: field not declared in schema"],
    ),
    "named like two faults, of which one would hit another field": (
        thing(**{f"a{UNKNOWN}\n  .spec.size": 1, "size": 1, "a": 2}),
        errors(f".spec.a{UNKNOWN}\n  .spec.size{UNKNOWN}", f".spec.a{UNKNOWN}"),
        thing(size=1),
        [f"spec.a{UNKNOWN} .spec.size", "spec.a"],
    ),
    "with dots, beside the path that it looks like": (
        thing(**{"a": {"b": 1}, "a.b": 2}),
        f".spec.a.b{UNKNOWN}",
        thing(a={"b": 1}),
        ["spec.a.b"],
    ),
    "in an item whose key is hard to read": (
        deployment(containers=[{"name": 'é"x]\n\x07,a=1', "foo": 1}]),
        rf'{POD}.containers[name="é\"x]\n\a,a=1"].foo{UNKNOWN}',
        deployment(containers=[{"name": 'é"x]\n\x07,a=1'}]),
        [r'spec.template.spec.containers[name="é\"x]\n\a,a=1"].foo'],
    ),
    "in two items of one key": (
        deployment(containers=[{"name": "c", "foo": 1}, {"name": "c", "foo": 2}]),
        errors(*[f'{POD}.containers[name="c"].foo{UNKNOWN}'] * 2),
        deployment(containers=[{"name": "c"}, {"name": "c"}]),
        ['spec.template.spec.containers[name="c"].foo'],
    ),
}

DUPLICATE = ": duplicate entries for key "
DUPLICATES: dict[str, tuple[JsonObject, str, JsonObject, list[tuple[str, str]]]] = {
    "three of a name": (
        main(
            env=[{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A"}, {"name": "A", "v": 3}]
        ),
        errors(*[f'{MAIN}.env{DUPLICATE}[name="A"]'] * 2),
        main(env=[{"name": "A", "v": 3}, {"name": "B"}]),
        [('spec.template.spec.containers[name="main"].env', 'name="A"')],
    ),
    "two names": (
        main(env=[{"name": "A"}, {"name": "B"}, {"name": "B", "v": 1}, {"name": "A", "v": 1}]),
        errors(f'{MAIN}.env{DUPLICATE}[name="B"]', f'{MAIN}.env{DUPLICATE}[name="A"]'),
        main(env=[{"name": "A", "v": 1}, {"name": "B", "v": 1}]),
        [
            ('spec.template.spec.containers[name="main"].env', 'name="B"'),
            ('spec.template.spec.containers[name="main"].env', 'name="A"'),
        ],
    ),
    "a key of two fields, one of them by default": (
        service(
            {"port": 80, "name": "a"},
            {"port": 80, "protocol": "UDP"},
            {"port": 80, "protocol": "TCP", "name": "b"},
        ),
        f'.spec.ports{DUPLICATE}[port=80,protocol="TCP"]',
        service({"port": 80, "protocol": "TCP", "name": "b"}, {"port": 80, "protocol": "UDP"}),
        [("spec.ports", 'port=80,protocol="TCP"')],
    ),
    "a key that is null": (
        main(ports=[{"port": 80}, {"port": 80, "protocol": None}, {"port": 80, "protocol": None}]),
        f"{MAIN}.ports{DUPLICATE}[port=80,protocol=null]",
        main(ports=[{"port": 80}, {"port": 80, "protocol": None}]),
        [('spec.template.spec.containers[name="main"].ports', "port=80,protocol=null")],
    ),
    "a number that is no integer, beside true": (
        thing(keyed=[{"k": 1.5}, {"k": 1}, {"k": True}, {"k": 1.5, "v": 1}]),
        f".spec.keyed{DUPLICATE}[k=1.5]",
        thing(keyed=[{"k": 1.5, "v": 1}, {"k": 1}, {"k": True}]),
        [("spec.keyed", "k=1.5")],
    ),
    "true, beside one": (
        thing(keyed=[{"k": 1}, {"k": True}, {"k": True, "v": 1}]),
        f".spec.keyed{DUPLICATE}[k=true]",
        thing(keyed=[{"k": 1}, {"k": True, "v": 1}]),
        [("spec.keyed", "k=true")],
    ),
    "items of a set": (
        finalizers("a.b/c", "d.e/f", "a.b/c"),
        f'.metadata.finalizers{DUPLICATE}[="a.b/c"]',
        finalizers("a.b/c", "d.e/f"),
        [("metadata.finalizers", '"a.b/c"')],
    ),
    "lists of items that are duplicates themselves": (
        deployment(containers=[{"name": "c", "env": [{"name": "a"}, {"name": "a", "v": 1}]}] * 2),
        errors(
            f'{POD}.containers[name="c"].env{DUPLICATE}[name="a"]',
            f'{POD}.containers{DUPLICATE}[name="c"]',
            f'{POD}.containers[name="c"].env{DUPLICATE}[name="a"]',
        ),
        deployment(containers=[{"name": "c", "env": [{"name": "a", "v": 1}]}]),
        [
            ('spec.template.spec.containers[name="c"].env', 'name="a"'),
            ("spec.template.spec.containers", 'name="c"'),
        ],
    ),
}

SIZE = thing(size="x", bogus=1)
OTHER: dict[str, tuple[JsonObject, str]] = {
    "a wrong type": (SIZE, ".spec.size: expected numeric (int or float), got string"),
    "a wrong type among others": (
        SIZE,
        errors(f".spec.bogus{UNKNOWN}", ".spec.size: expected numeric (int or float), got string"),
    ),
    "an empty item": (
        thing(keyed=[None]),
        ".spec.keyed: element 0: associative list with keys may not have a null element",
    ),
    "an item without its key": (
        thing(keyed=[{"v": 1}]),
        (
            ".spec.keyed: element 0: associative list with keys has an element that omits all key "
            'fields ["k"] (and doesn\'t have default values for any key fields)'
        ),
    ),
    "a field that the object lacks": (SIZE, f".spec.other{UNKNOWN}"),
    "duplicates that are none": (
        thing(keyed=[{"k": "a"}, {"k": "b"}]),
        f'.spec.keyed{DUPLICATE}[k="a"]',
    ),
    "an item as a field": (thing(list=[1, 2]), f".spec.list[1]{UNKNOWN}"),
    "an item that the list lacks": (thing(list=[{"a": 1}]), f".spec.list[1].a{UNKNOWN}"),
    "a key that cannot be read": (thing(list=[{"a": 1}]), f".spec.list[a=}}].a{UNKNOWN}"),
    "more text": (SIZE, f".spec.bogus{UNKNOWN} at all"),
    "two faults in one": (SIZE, f".spec.bogus{UNKNOWN}.spec.size{UNKNOWN}"),
    "a second line without a second fault": (SIZE, f".spec.bogus{UNKNOWN}\n  .spec.size{UNKNOWN}"),
    "the object itself": (SIZE, UNKNOWN),
    "its metadata": (SIZE, f".metadata{UNKNOWN}"),
    "its name": (SIZE, f".metadata.name{UNKNOWN}"),
    "no fault": (SIZE, ""),
    "no faults": (SIZE, "errors:"),
}


def of(target: JsonObject, faults: str) -> str:
    return f"{SAID[target['kind']]}{faults}"


def test_an_unknown_field_is_left_out_and_named(subtests: pytest.Subtests) -> None:
    for case in UNKNOWN_FIELDS:
        with subtests.test(case=case):
            target, faults, expected, fields = UNKNOWN_FIELDS[case]

            found = mended(target, of(target, faults))

            assert found is not None
            assert found.target == expected
            assert found.notes == tuple(
                Note("UnknownField", f"unknown field {field} is left out") for field in fields
            )


def test_of_items_with_one_key_the_last_wins_where_the_first_stood(
    subtests: pytest.Subtests,
) -> None:
    for case in DUPLICATES:
        with subtests.test(case=case):
            target, faults, expected, lists = DUPLICATES[case]

            found = mended(target, of(target, faults))

            assert found is not None
            assert json.dumps(found.target) == json.dumps(expected)
            assert found.notes == tuple(
                Note(
                    "DuplicateListKey",
                    f"{where} has several items with the key {key}: the last is used",
                )
                for where, key in lists
            )


def test_what_cannot_be_mended_is_left_to_the_author(subtests: pytest.Subtests) -> None:
    for case in OTHER:
        with subtests.test(case=case):
            target, faults = OTHER[case]

            assert mended(target, of(target, faults)) is None


def test_other_refusals_are_not_touched() -> None:
    table = [
        "etcdserver: request timed out",
        f".spec.bogus{UNKNOWN}",
        f"failed to create typed live object (default/x; /v1, Kind=Thing): .spec.bogus{UNKNOWN}",
        f"failed to create typed patch object (default/x; /v1, Kind=Other): .spec.bogus{UNKNOWN}",
        f"failed calling webhook: {SAID['Thing']}.spec.bogus{UNKNOWN}",
    ]
    for message in table:
        assert mended(SIZE, message) is None


def test_the_text_of_api_servers_before_1_22_is_understood() -> None:
    found = mended(SIZE, f"failed to create typed patch object: .spec.bogus{UNKNOWN}")

    assert found is not None
    assert found.target == thing(size="x")


def test_the_object_that_was_sent_stays_as_it_is() -> None:
    for target, faults, *_ in (*UNKNOWN_FIELDS.values(), *DUPLICATES.values()):
        before = copy.deepcopy(target)
        mended(target, of(target, faults))
        assert target == before
