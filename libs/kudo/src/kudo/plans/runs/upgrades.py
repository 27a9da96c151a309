"""Rules of upgrades: the operator and the values of immutable parameters must not change.

The OperatorVersion in force may no longer exist. Then its name and `status.lastRun` decide. What
they do not prove is denied, since it could not be undone; the user can create the version again.

After an upgrade that failed, the Instance may go back to the version before it, whatever
`upgradableFrom` says there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kudo.api import Instance, LastRun, OperatorVersion, Parameter
from kudo.api.problems import Problem, listed, shown_name
from kudo.plans.runs.last_run import has_run, in_force, previous_version, version_in_force


@dataclass(frozen=True, slots=True)
class Before:
    """The OperatorVersion that an upgrade leaves.

    Attributes:
        namespace, name: Its reference.
        version: What it says; None if it no longer exists.
        operator: The operator on record; empty if that is not known.
        previous: Namespace and name of the version before it, if the upgrade from that failed.
    """

    namespace: str
    name: str
    version: OperatorVersion | None = None
    operator: str = ""
    previous: tuple[str, str] | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


def left_by(instance: Instance, version: OperatorVersion | None) -> Before | None:
    """Return what a change of the stored Instance to another version leaves.

    None if nothing of it ever ran, so that nothing has to stay.

    Args:
        instance: The Instance as it is stored.
        version: The OperatorVersion that it names; None if that does not exist.
    """
    last = in_force(instance)
    if version is None and last is not None:
        # The spec may name what never was: a version in force is what counts.
        return of_record(last, None)
    if version is None and not has_run(instance):
        return None
    previous = None if last is None else previous_version(last)
    return Before(*instance.operator_version_key, version, previous=previous)


def of_record(last: LastRun, version: OperatorVersion | None) -> Before:
    """Return the OperatorVersion in force by its record, and what it says if it still exists."""
    operator, previous = last.operator or "", previous_version(last)
    return Before(*version_in_force(last), version, operator, previous)


def operator_problems(before: Before, version: OperatorVersion) -> Iterator[Problem]:
    """Yield why a version may not follow another one.

    Another operator is never an upgrade; `upgradableFrom` is honoured where it is set, except for
    the way back from an upgrade that failed.
    """
    key = version.metadata.namespace, version.metadata.name
    if before.key == key:
        return
    yield from _operator_problems(before, version.operator_name)
    if before.previous == key:
        return
    allowed = [ref.name for ref in version.spec.upgradable_from or () if ref.name]
    if allowed and before.name not in allowed:
        ways_out = ""
        if before.previous is not None:
            back = shown_name(before.previous[1])
            ways_out = f"; its last run failed: retry it, or go back to {back}"
        yield Problem(
            "NotUpgradable",
            f"{version.metadata.name} can be upgraded to from {listed(allowed)} only, "
            f"and {shown_name(before.name)} is in force{ways_out}",
            "spec.operatorVersion",
        )


def _operator_problems(before: Before, after: str) -> Iterator[Problem]:
    operator = before.operator if before.version is None else before.version.operator_name
    if operator and after and operator != after:
        yield Problem(
            "OperatorChanged",
            f"upgrade from operator '{shown_name(operator)}' to operator '{shown_name(after)}' is "
            "not allowed; install the other operator as a new Instance",
            "spec.operatorVersion",
        )
    # The command line names OperatorVersions after their operator and version: `kafka-1.0` is one
    # of `kafka`, and `kafka-connect-1.0` is none.
    version = before.name.removeprefix(f"{after}-")
    named_so = version != before.name and re.match(r"v?[0-9]", version) is not None
    if after and not operator and before.version is None and not named_so:
        yield Problem(
            "OperatorVersionNotFound",
            f"{shown_name(before.name)} is in force but does not exist, and its name does not "
            f"show that it belongs to operator '{shown_name(after)}'; create it again in namespace "
            f"{shown_name(before.namespace)}, then upgrade",
            "spec.operatorVersion",
        )


def stays(before: Before, definition: Parameter, *, had_value: bool) -> bool:
    """Whether an upgrade may not change a parameter that the new version declares so.

    Args:
        before: What it leaves. Of a version that no longer exists, whatever had a value counts as
            immutable, if it is now.
        definition: The parameter in the new version.
        had_value: Whether the Instance had a value of it.
    """
    if not definition.immutable:
        return False
    if before.version is None:
        return had_value
    declared = before.version.parameter(definition.name)
    return declared is not None and bool(declared.immutable)


def unknown_hint(before: Before) -> str:
    """Return why a parameter has to stay although nobody knows that it had to before."""
    if before.version is not None:
        return ""
    return (
        f" ({shown_name(before.name)} is in force but does not exist, so whether that is allowed "
        "is unknown; keep the value, or create that OperatorVersion again)"
    )


def goes_up(before: OperatorVersion, after: OperatorVersion) -> bool | None:
    """Return whether a version is newer than another one, False if it is older, None if neither.

    The operatorVersion decides, then the appVersion. What cannot be compared counts as newer.
    """
    order = _order(before.spec.version or "", after.spec.version or "")
    if order is None:
        order = _order(before.spec.app_version or "", after.spec.app_version or "")
    return order


def _order(before: str, after: str) -> bool | None:
    if before == after:
        return None
    # Imported here: versions are those of the template engine, and only upgrades compare them.
    from kudo.api.semver import precedence

    old, new = precedence(before), precedence(after)
    if old is None or new is None:
        return True
    return None if old == new else old < new
