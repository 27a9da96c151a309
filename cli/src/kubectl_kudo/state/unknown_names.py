"""Suggests names of parameters and plans after a write that the cluster has denied.

The OperatorVersion is read only then, so a command that succeeds costs no more requests.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from kubectl_kudo.core.errors import CliError, describe
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.session import Session
from kubectl_kudo.core.suggestions import did_you_mean
from kubeio.errors import ApiError, KubeError


@asynccontextmanager
async def parameters_suggested(
    session: Session, instance: str, names: Iterable[str]
) -> AsyncIterator[None]:
    """Add to an error which parameters the names could stand for.

    Raises:
        CliError: the error with the suggestions, instead of that without.
    """
    try:
        yield
    except (ApiError, CliError) as error:
        spec = await _spec(session, instance)
        known = [str(parameter.get("name")) for parameter in spec.get("parameters") or ()]
        _raise_with(error, _suggestions(names, known))
        raise


@asynccontextmanager
async def plans_suggested(session: Session, instance: str, name: str) -> AsyncIterator[None]:
    """Add to an error which plan the name could stand for, or which plans there are.

    Raises:
        CliError: the error with the suggestion, instead of that without.
    """
    try:
        yield
    except (ApiError, CliError) as error:
        plans = list((await _spec(session, instance)).get("plans") or {})
        more = _suggestions([name], plans)
        if plans and name not in plans and not more:
            more = [f"{name}: it can be {', '.join(sorted(plans))}"]
        _raise_with(error, more)
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


def _suggestions(names: Iterable[str], known: list[str]) -> list[str]:
    found = ((name, did_you_mean(name, known)) for name in names if name not in known)
    return [f"{name}: {text}" for name, text in found if text]


def _raise_with(error: Exception, more: list[str]) -> None:
    if more:
        raise CliError("\n  ".join([str(describe(error)), *more])) from error
