"""Whatever a child is and whatever is wanted: a few changes, each admitted, and then it is so."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from kudo.admission.review import AdmissionRequest, Review, mutate
from kudo.api import Instance, JsonObject, OperatorVersion, Setting
from kudo.tasks.kudo_operator import Child, ChildUpdate, next_update

OLD, NEW = ("ns", "op-1"), ("ns", "op-2")
NAMES = st.sampled_from("ABCD")
VALUES = st.dictionaries(NAMES, st.sampled_from("xyz"))
PLANS: JsonObject = {name: {"phases": []} for name in ("deploy", "update", "upgrade")}

REFUSED = {"ParameterImmutable", "ImmutableWithoutValue"}
"""What only another parameter file can help against."""


@dataclass(frozen=True)
class Stored:
    """The child in the cluster, and which of its parameters we have set."""

    version: tuple[str, str]
    parameters: Mapping[str, Setting]
    owned: frozenset[str]

    @property
    def instance(self) -> Instance:
        return Instance.from_wire(
            {
                "metadata": {"name": "c", "namespace": "ns", "uid": "u"},
                "spec": {
                    "operatorVersion": {"name": self.version[1]},
                    "parameters": dict(self.parameters),
                },
            }
        )

    def applied(self, update: ChildUpdate) -> "Stored":
        """Return what server-side apply makes of it."""
        theirs = {k: v for k, v in self.parameters.items() if k not in self.owned}
        parameters = {**theirs, **update.parameters}
        return Stored(update.version, parameters, frozenset(update.parameters))


def version(
    key: tuple[str, str], names: Iterable[str], immutable: Iterable[str]
) -> OperatorVersion:
    declared = [{"name": name, "immutable": name in immutable} for name in sorted(names)]
    metadata = {"namespace": key[0], "name": key[1]}
    return OperatorVersion.from_wire(
        {"metadata": metadata, "spec": {"parameters": declared, "plans": PLANS}}
    )


def reasons(
    before: Stored, after: Stored, versions: Mapping[tuple[str, str], OperatorVersion]
) -> set[str]:
    """Return why the admission rules deny a change."""
    wire = after.instance.to_wire(), before.instance.to_wire()
    answer = mutate(
        Review.of(AdmissionRequest("UPDATE", "ns", "c", *wire)), versions, fresh_uid=lambda: "f"
    )
    return {problem.reason for problem in answer.problems}


@given(
    old=st.frozensets(NAMES),
    new=st.frozensets(NAMES),
    fixed=st.tuples(st.frozensets(NAMES), st.frozensets(NAMES)),
    stored=VALUES,
    owned=st.frozensets(NAMES),
    desired=VALUES,
)
def test_a_child_gets_there_unless_the_rules_forbid_it(
    old: frozenset[str],
    new: frozenset[str],
    fixed: tuple[frozenset[str], frozenset[str]],
    stored: Mapping[str, str],
    owned: frozenset[str],
    desired: Mapping[str, str],
) -> None:
    before, after = version(OLD, old, fixed[0]), version(NEW, new, fixed[1])
    versions = {OLD: before, NEW: after}
    # Nothing undeclared, which would be denied from the first.
    stored = {name: value for name, value in stored.items() if name in old}
    desired = {name: value for name, value in desired.items() if name in new}
    child = Child("have", "ns", "c", "op", NEW, desired)
    seen = Stored(OLD, stored, owned & stored.keys())

    for _ in range(3):
        update = next_update(child, seen.instance, seen.owned, versions[seen.version], after)
        result = seen.applied(update)
        denied = reasons(seen, result, versions)
        if denied:
            assert denied <= REFUSED
            return
        seen = result
        if update.last:
            break

    assert update.last
    assert seen.version == NEW
    assert {name: seen.parameters.get(name) for name in desired} == desired
    assert seen.owned == desired.keys()
