"""Suggests names of parameters and plans after a write that the cluster has denied.

The OperatorVersion is read only then, so a command that succeeds costs no more requests.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.names import note_similar
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import ApiError, KubeError


@asynccontextmanager
async def parameters_suggested(
    session: Session, instance: str, names: Iterable[str]
) -> AsyncIterator[None]:
    """Add to an error, as a note, which parameters the names could stand for."""
    try:
        yield
    except (ApiError, CliError) as error:
        spec = await _spec(session, instance)
        known = [str(parameter.get("name")) for parameter in spec.get("parameters") or ()]
        note_similar(error, names, known)
        raise


@asynccontextmanager
async def plans_suggested(session: Session, instance: str, name: str) -> AsyncIterator[None]:
    """Add to an error, as a note, which plan the name could stand for; a denial lists them all."""
    try:
        yield
    except (ApiError, CliError) as error:
        plans = list((await _spec(session, instance)).get("plans") or {})
        note_similar(error, [name], plans)
        raise


async def _spec(session: Session, name: str) -> JsonObject:
    """Return the spec of the Instance's OperatorVersion; empty if it cannot be read."""
    try:
        instance = await session.instance(name)
        version = await session.version_of(instance) if instance else None
    except KubeError:
        return {}
    spec: JsonObject = (version or {}).get("spec") or {}
    return spec
