"""Whose fields of a child are whose: what the original set in our name becomes ours."""

from kudo.api import JsonObject
from kudo.tasks.kudo_operator import handed_over, owned_parameters, owns_account

LEAF: JsonObject = {}


def entry(manager: str, operation: str, fields: JsonObject, **more: str) -> JsonObject:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "kudo.dev/v1beta1",
        "time": more.pop("time", "2021-07-02T10:00:00Z"),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def parameters(*names: str) -> JsonObject:
    return {".": LEAF, **{f"f:{name}": LEAF for name in names}}


VERSION: JsonObject = {".": LEAF, "f:name": LEAF}
METADATA: JsonObject = {"f:labels": {"f:kudo.dev/operator": LEAF}, "f:ownerReferences": LEAF}
ORIGINAL = entry(
    "manager",
    "Update",
    {
        "f:metadata": METADATA,
        "f:spec": {
            ".": LEAF,
            "f:operatorVersion": VERSION,
            "f:parameters": parameters("A", "B"),
            "f:planExecution": {".": LEAF, "f:uid": LEAF},
        },
    },
)
STATUS = entry("manager", "Update", {"f:status": LEAF}, subresource="status")
USER = entry("kubectl-kudo", "Update", {"f:spec": {"f:parameters": {"f:C": LEAF}}})


def applied(*names: str, **more: str) -> JsonObject:
    return entry("kudo", "Apply", {"f:spec": {"f:parameters": parameters(*names)}}, **more)


def test_what_we_have_applied_is_read_from_the_managed_fields() -> None:
    both = {"managedFields": [applied("A", "B"), USER]}
    assert owned_parameters(both) == {"A", "B"}


def test_what_others_wrote_is_not_ours_nor_what_we_wrote_by_other_means() -> None:
    restarted = entry("kudo", "Update", {"f:spec": {"f:planExecution": LEAF}})
    assert owned_parameters({"managedFields": [ORIGINAL, USER, restarted]}) == frozenset()
    assert owned_parameters({}) == frozenset()
    assert owned_parameters({"managedFields": [{"manager": "kudo", "operation": "Apply"}]}) == (
        frozenset()
    )


def test_parameters_and_version_are_handed_over_and_nothing_else() -> None:
    ours, left, status, user = handed_over({"managedFields": [ORIGINAL, STATUS, USER]}, ()) or []
    assert (ours["manager"], ours["operation"]) == ("kudo", "Apply")
    assert ours["time"] == ORIGINAL["time"]
    assert ours["fieldsV1"] == {
        "f:spec": {"f:operatorVersion": VERSION, "f:parameters": parameters("A", "B")}
    }
    assert left == {
        **ORIGINAL,
        "fieldsV1": {
            "f:metadata": METADATA,
            "f:spec": {".": LEAF, "f:planExecution": {".": LEAF, "f:uid": LEAF}},
        },
    }
    assert [status, user] == [STATUS, USER]


def test_what_may_not_be_removed_stays_with_who_wrote_it() -> None:
    ours, left = handed_over({"managedFields": [ORIGINAL]}, ["B"]) or []
    assert ours["fieldsV1"]["f:spec"]["f:parameters"] == parameters("A")
    assert left["fieldsV1"]["f:spec"]["f:parameters"] == {"f:B": LEAF}


def test_what_is_handed_over_joins_what_we_have_applied() -> None:
    mine = applied("Z", time="2026-01-01T00:00:00Z")
    ours, _left = handed_over({"managedFields": [mine, ORIGINAL]}, ()) or []
    assert ours["time"] == "2026-01-01T00:00:00Z"
    assert owned_parameters({"managedFields": [ours]}) == {"A", "B", "Z"}


def test_an_entry_of_which_nothing_is_left_goes() -> None:
    only = entry("manager", "Update", {"f:spec": {"f:operatorVersion": VERSION}})
    assert [one["manager"] for one in handed_over({"managedFields": [only]}, ()) or []] == ["kudo"]


def test_what_is_ours_already_is_left_alone() -> None:
    after = handed_over({"managedFields": [ORIGINAL, USER]}, ["B"])
    assert handed_over({"managedFields": after}, ["B"]) is None
    for entries in ([], [USER], [STATUS], [applied("A")]):
        assert handed_over({"managedFields": entries}, ()) is None
    assert handed_over({}, ()) is None


def test_the_account_of_a_child_is_ours_if_we_applied_it() -> None:
    fields: JsonObject = {"f:spec": {"f:serviceAccountName": LEAF}}
    assert owns_account({"managedFields": [entry("kudo", "Apply", fields)]})
    assert not owns_account({"managedFields": [entry("kubectl", "Apply", fields)]})
    assert not owns_account({"managedFields": [entry("kudo", "Apply", {"f:spec": {}})]})
    assert not owns_account({})
