"""Rules on where values of parameters come from: Secrets, ConfigMaps or the Instance itself.

They judge references. What stands there is read, and judged, when a run begins.
"""

import re
from collections.abc import Iterator
from typing import Final

from kubeio.names import is_subdomain
from kudo.admission.change import Change
from kudo.api import Parameter, Reference
from kudo.api.parameter_source import KEY, ONE_SOURCE
from kudo.api.problems import Problem, listed, parameter_field, shown, shown_name
from kudo.api.setting import CONFIG_MAP, SECRET

_KEY: Final = re.compile(KEY)
_LONGEST_KEY: Final = 253


def parameters_are_set_once(change: Change) -> Iterator[Problem]:
    """A value and a reference for one parameter, or two references: a run would take either."""
    for name in change.twice:
        yield Problem(
            "ParameterSetTwice",
            f'parameter "{shown_name(name)}" is set more than once, in spec.parameters and '
            "spec.parametersFrom; keep one of them",
            source_field(name),
        )


def references_can_be_read(change: Change) -> Iterator[Problem]:
    """For parameters whose reference or definition changed: only secret ones come from Secrets."""
    for definition in change.redefined if change.new.sources else ():
        setting = change.settings.get(definition.name)
        if isinstance(setting, Reference):
            fault = reference_fault(definition, setting)
            if fault:
                text = f'parameter "{shown_name(definition.name)}": {fault}'
                yield Problem("ParameterSourceInvalid", text, source_field(definition.name))


def reference_fault(definition: Parameter, reference: Reference) -> str:
    """Return why a parameter cannot get its value from there, and what to do; "" if it can."""
    if not reference.kind:
        return ONE_SOURCE
    if not is_subdomain(reference.name):
        return f"{shown_name(reference.name) or 'nothing'} is no name of a {reference.kind}"
    if len(reference.key) > _LONGEST_KEY or not _KEY.fullmatch(reference.key):
        key = shown_name(reference.key) or "nothing"
        return f'{key} is no key of a {reference.kind}: use letters, digits, "-", "_" and "."'
    if definition.secret and reference.kind == CONFIG_MAP:
        return "it is secret, so its value comes from a Secret; use secretKeyRef"
    if not definition.secret and reference.kind == SECRET:
        return (
            "it is not secret, so the value of a Secret would be shown; use configMapKeyRef or a "
            "value, or a version of the package that declares it secret"
        )
    return ""


def secrets_are_not_in_plain_text(change: Change) -> Iterator[Problem]:
    """Strict mode alone; compat mode warns (`plain_secrets`)."""
    for name in plain_secrets(change) if change.strict else ():
        yield Problem(
            "SecretInPlainText",
            f'parameter "{shown_name(name)}" is secret, and whoever may read the Instance would '
            "see its value; put it into a Secret and name that: "
            f"-p {shown_name(name)}@secret=SECRET/KEY, or spec.parametersFrom",
            parameter_field(name),
        )


def plain_secrets(change: Change) -> tuple[str, ...]:
    """Return the secret parameters with a plain value, of those whose setting changed."""
    return tuple(
        definition.name
        for definition in change.redefined
        if definition.secret and isinstance(change.settings.get(definition.name), str)
    )


def plain_secrets_warning(names: tuple[str, ...]) -> str:
    """Return what compat mode says of plain values of secret parameters."""
    first = shown_name(names[0])
    return (
        f"whoever may read the Instance sees values of secret parameters: {listed(names)}; with "
        f"tenancy strict they are denied; put them into a Secret (-p {first}@secret=SECRET/KEY)"
    )


def source_field(name: str) -> str:
    """Return the path of the source of a parameter, as problems name it."""
    return f"spec.parametersFrom[{shown(shown_name(name), _LONGEST_KEY)}]"
