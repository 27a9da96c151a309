"""The optional checks of texts for people, with the rules of KUDO 0.19."""

import pytest

from kudo.verification.parameter_texts import NAMES, verify_parameter_texts
from tests.unit.kudo.verification.test_verification import Json, package

GOOD: Json = {
    "name": "P",
    "default": "1",
    "displayName": "Size",
    "description": "The size.",
    "hint": "In MiB.",
    "group": "disk",
    "type": "integer",
}
GROUP: Json = {"name": "disk", "displayName": "Disk", "description": "Of the disk."}


def told(names: list[str], parameter: Json, group: Json = GROUP) -> list[str]:
    of = package(parameters=[parameter], groups=[group])
    findings = verify_parameter_texts(of, names)
    assert {finding.severity for finding in findings} <= {"warning"}
    assert all(finding.place.line for finding in findings)
    return [finding.problem.message for finding in findings]


def test_each_check_has_its_rules(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, Json, str]] = [
        ("desc", {"description": ""}, "has no description"),
        ("desc", {"description": "The size"}, "has a description that does not end with one of"),
        ("desc", {"description": "the size."}, "has a description that starts with a lower-case"),
        ("hint", {"hint": ""}, "has no hint"),
        ("hint", {"hint": "In MiB!"}, "has a hint that does not end with '.'"),
        ("display", {"displayName": ""}, "has no displayName"),
        ("display", {"displayName": "Size:"}, "has a displayName that ends with ':'"),
        ("display", {"displayName": "size"}, "has a displayName that starts with a lower-case"),
        ("hasgroup", {"group": ""}, "has no group"),
        ("type", {"type": ""}, "has no explicit type assigned"),
    ]
    for name, fields, fault in table:
        with subtests.test(name=name, fields=fields, fault=fault):
            for names in ([name], ["all"]):
                [message] = told(names, GOOD | fields)
                assert message.startswith(f'parameter "P" {fault}')
            assert told([one for one in NAMES if one not in {name, "all"}], GOOD | fields) == []


def test_texts_of_groups_have_the_same_rules() -> None:
    bare = {"name": "disk"}
    assert told(["groups"], GOOD, bare) == [
        'parameter group "disk" has no displayName',
        'parameter group "disk" has no description',
    ]


def test_a_description_ends_like_a_sentence() -> None:
    for end in ".!?)":
        assert told(["all"], GOOD | {"description": f"The size{end}"}) == []


def test_findings_come_in_the_order_of_the_original() -> None:
    messages = told(["all"], {"name": "P"}, {"name": "disk"})
    assert [message.partition(" has ")[2] for message in messages] == [
        *("no description", "no hint", "no displayName", "no group", "no explicit type assigned"),
        *("no displayName", "no description"),
    ]
