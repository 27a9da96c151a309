"""Reads the Secrets and ConfigMaps that parameters take their values from.

They are read when a run begins, as the account of the Instance, and the run keeps what it has read.
What cannot be read, or is no value of its parameter, is told without its content. It holds the run
before its first status; a cleanup runs without it.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kubeio.client import Client
from kubeio.errors import ApiError, Forbidden, InvalidPath, NotFound
from kubeio.resource import CONFIG_MAPS, SECRETS, Resource
from kudo.api import (
    Instance,
    JsonObject,
    OperatorVersion,
    Parameter,
    ParameterSource,
    SourceRecord,
    bounds,
)
from kudo.api.fingerprints import fingerprint, keyed_fingerprint
from kudo.api.problems import Problem, shown_name
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects.api_errors import advice
from kudo.parameters.values import check_value
from kudo.plans.runs.conditions import SOURCE_FORBIDDEN, SOURCE_KEY, SOURCE_MISSING, SOURCE_UNUSABLE
from kudo.plans.runs.last_run import Sources
from kudo_reconciler.common.errors import error_text
from kudo_reconciler.controller.context import ValueChecks
from kudo_reconciler.execution.run_values import NO_VALUES, RunValues
from kudo_reconciler.tenancy.accounts import Accounts

_IN_ALL: Final = 1024 * 1024
"""Characters of all values of a run, which its memory keeps; a spec holds about as many."""
_NO_KEY: Final = (
    "the installation has no key for digests, and a secret value is never recorded without one; "
    "an administrator makes it: kubectl create secret generic kudo-digest-key -n kudo-system "
    "--from-literal=key=$(openssl rand -hex 32), and restarts the reconciler"
)


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    texts: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: dict[str, SourceRecord] = field(default_factory=dict)
    config_maps: dict[str, SourceRecord] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    size: int = 0


@dataclass(frozen=True, slots=True)
class ParameterSources:
    """Reads the values of the parameters of runs.

    Attributes:
        accounts: Whom they are read as.
        values: Checks whether they are values of their parameters.
        key: Of the digests of secret values; None if the installation has none.
    """

    accounts: Accounts
    values: ValueChecks
    key: bytes | None

    async def read(
        self, instance: Instance, version: OperatorVersion, account: str | None
    ) -> RunValues:
        """Return the values that a run begins with; those that it lacks are `missing`.

        Args:
            instance: The Instance.
            version: The OperatorVersion that the run begins with, which declares the parameters.
            account: The account that the run acts as; None for the reconciler.

        Raises:
            KubeError: a request failed; try again.
            workers.WorkerError: no worker process was available; try again.
        """
        declared = {parameter.name: parameter for parameter in version.parameters}
        wanted = [one for one in instance.sources if one.name in declared]
        if not wanted:
            return NO_VALUES
        reading = _Reading()
        try:
            client = await self.accounts.acting(instance, account)
        except (FatalTaskError, TransientTaskError) as error:
            refused = Problem(error.reason, str(error), "spec.serviceAccountName")
            reading.problems = {one.name: refused for one in wanted}
            client = None
        for (resource, name), sources in _by_object(wanted).items():
            if client is not None:
                obj = await self._object(client, instance, resource, name, sources, reading)
                if obj is not None:
                    self._take(obj, resource, sources, instance, declared, reading)
        await self._check(instance, declared, wanted, reading)
        secret = {one.name for one in wanted if _is_secret(one, declared[one.name])}
        return RunValues(
            reading.texts,
            frozenset(secret & reading.texts.keys()),
            reading.problems,
            Sources(reading.secrets, reading.config_maps),
            self.key or b"",
        )

    async def _object(
        self,
        client: Client,
        instance: Instance,
        resource: Resource,
        name: str,
        sources: Sequence[ParameterSource],
        reading: _Reading,
    ) -> JsonObject | None:
        """Read one Secret or ConfigMap; None, and a problem of each parameter, if that fails."""
        namespace, what = instance.metadata.namespace, f"{resource.kind} {shown_name(name)}"
        try:
            return await client.get(resource, name, namespace=namespace)
        except (NotFound, InvalidPath):
            reason = SOURCE_MISSING
            why = f"{what} does not exist in namespace {namespace}; create it"
        except Forbidden as error:
            reason, why = SOURCE_FORBIDDEN, f"{what} cannot be read: {error_text(error, resource)}"
            user = "" if client.identity is None else client.identity.user
            hint = advice("", error.status, why, (), account=user)
            why = f"{why}; {hint}" if hint and hint not in why else why
        except ApiError as error:
            if error.status >= _SERVER or error.status == _TOO_MANY:
                raise
            reason, why = SOURCE_FORBIDDEN, f"{what} cannot be read: {error_text(error, resource)}"
        for source in sources:
            reading.problems[source.name] = _problem(reason, source, why)
        return None

    def _take(
        self,
        obj: JsonObject,
        resource: Resource,
        sources: Iterable[ParameterSource],
        instance: Instance,
        declared: Mapping[str, Parameter],
        reading: _Reading,
    ) -> None:
        """Take the values of parameters from one object."""
        metadata = obj["metadata"]
        for source in sources:
            name, key = source.name, source.reference.key
            text, reason, why = _text_of(obj, resource, key)
            secret = _is_secret(source, declared[name])
            if text is not None and len(text) > bounds.VALUE:
                reason, text = SOURCE_UNUSABLE, None
                why = f"has more than {bounds.VALUE:,} characters; use a shorter value"
            elif text is not None and reading.size + len(text) > _IN_ALL:
                reason, text = SOURCE_UNUSABLE, None
                why = f"has, with the other ones, more than {_IN_ALL:,} characters"
            elif secret and not self.key:
                reason, text, why = SOURCE_KEY, None, _NO_KEY
            if text is None:
                where = f"key {shown_name(key)} of {resource.kind} {metadata['name']}"
                said = why if reason == SOURCE_KEY else f"{where} {why}"
                reading.problems[name] = _problem(reason, source, said)
                continue
            reading.size += len(text)
            reading.texts[name] = text
            uid = instance.metadata.uid
            digest = keyed_fingerprint(self.key or b"", uid, name, text) if secret else ""
            record = SourceRecord(
                digest=digest or fingerprint(text),
                uid=str(metadata["uid"]),
                resource_version=str(metadata["resourceVersion"]),
            )
            (reading.secrets if secret else reading.config_maps)[name] = record

    async def _check(
        self,
        instance: Instance,
        declared: Mapping[str, Parameter],
        wanted: Iterable[ParameterSource],
        reading: _Reading,
    ) -> None:
        """Drop what is no value of its parameter; of a secret one nothing more is told."""
        faults = await self.values.decide(
            instance.metadata.namespace,
            lambda check: {
                name: check_value(declared[name], text, check)
                for name, text in reading.texts.items()
            },
        )
        for source in wanted:
            name = source.name
            parameter, text = declared[name], reading.texts.get(name)
            fault = faults.get(name)
            if text == "" and parameter.required:
                said = f"{_named(source)} is empty, and the parameter is required"
            elif fault is None:
                continue
            elif _is_secret(source, parameter):
                said = (
                    f"{_named(source)} is no value of the type of the parameter, or breaks one of "
                    "its bounds; kubectl kudo package list parameters shows these"
                )
            else:
                said = f"{_named(source)}: {fault.message}"
            reading.problems[name] = _problem(SOURCE_UNUSABLE, source, said)
            reading.texts.pop(name)
            reading.secrets.pop(name, None)
            reading.config_maps.pop(name, None)


_SERVER: Final = 500
_TOO_MANY: Final = 429


def _by_object(
    sources: Iterable[ParameterSource],
) -> dict[tuple[Resource, str], list[ParameterSource]]:
    """Return the sources of each object, so that it is read once."""
    found: dict[tuple[Resource, str], list[ParameterSource]] = {}
    for source in sources:
        found.setdefault((_resource_of(source), source.reference.name), []).append(source)
    return found


def _is_secret(source: ParameterSource, parameter: Parameter) -> bool:
    # Past the webhook a parameter may take its value from a Secret that is not declared as one.
    return bool(parameter.secret) or source.secret_key_ref is not None


def _resource_of(source: ParameterSource) -> Resource:
    return CONFIG_MAPS if source.secret_key_ref is None else SECRETS


def _named(source: ParameterSource) -> str:
    reference, kind = source.reference, _resource_of(source).kind
    return f"key {shown_name(reference.key)} of {kind} {shown_name(reference.name)}"


def _text_of(obj: JsonObject, resource: Resource, key: str) -> tuple[str | None, str, str]:
    """Return the text of a key; else None, a reason, and why there is none, without content."""
    missing = SOURCE_MISSING, "does not exist; add it"
    values = obj.get("data") or {}
    if resource == CONFIG_MAPS:
        if key in (obj.get("binaryData") or {}):
            return None, SOURCE_UNUSABLE, "is binary, and values are texts; move it to data"
        return (values[key], "", "") if key in values else (None, *missing)
    if key not in values:
        return None, *missing
    try:
        return base64.b64decode(values[key] or "").decode(), "", ""
    except (binascii.Error, ValueError):
        return None, SOURCE_UNUSABLE, "is no UTF-8 text; values of parameters are texts"


def _problem(reason: str, source: ParameterSource, why: str) -> Problem:
    name = shown_name(source.name)
    return Problem(reason, f'parameter "{name}": {why}', f"spec.parametersFrom[{name}]")
