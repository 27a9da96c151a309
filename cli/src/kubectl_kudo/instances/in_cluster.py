"""Installs an Instance of an operator that is in the namespace, and so is what it depends on.

That was installed with it; what was deleted since is an error before anything is created.
"""

from kubectl_kudo.accounts.strict_check import check_strict
from kubectl_kudo.instances.create_instance import (
    check_absent,
    create_instance,
    wait_until_deployed,
)
from kubectl_kudo.instances.given_account import giving_of, with_account
from kubectl_kudo.packages.install_checks import check_instance, check_kubernetes
from kubectl_kudo.packages.install_set import as_declared
from kubectl_kudo.packages.installed_versions import lookup_in
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.kinds import OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.values import given_values
from kubeio.errors import NotFound
from kudo.api import OperatorVersion, default_instance_name
from kudo.api.names import API_VERSION, LABEL_OPERATOR
from kudo.packages.resolution import Requirement, check_installed


def install_in_cluster(args: Args) -> None:
    """Install an Instance of the operator that the argument names."""
    values = given_values(args)
    in_session(args, lambda session: install(session, args, values))


async def install(session: Session, args: Args, values: dict[str, str]) -> None:
    """Check everything, create the Instance and, if wanted, wait for the deployment."""
    version = await _version(session, args)
    declared = as_declared(version, values)
    instance = with_account(args, _instance(version, args.instance, session.namespace, declared))
    name = instance["metadata"]["name"]
    check_instance(name, version, declared)
    await _check_kubernetes(session, version)
    await check_absent(session, name)
    await check_strict(session, args, instance, {})
    giving = await giving_of(session, args, version, instance, {})
    if giving is None:
        made = await create_instance(session, instance)
    else:
        await giving.check()
        async with giving.applied():
            made = await create_instance(session, instance)
    session.report.show_all(session.writes.objects)
    if args.wait and not session.report.dry:
        await wait_until_deployed(session, made, args.wait_time)


async def _version(session: Session, args: Args) -> OperatorVersion:
    listing = await session.client.list(OPERATOR_VERSIONS, namespace=session.namespace)
    if not listing.items:
        text = f"failed to find any operator version in namespace {session.namespace}"
        raise CliError(text, code=ExitCode.NOT_FOUND)
    asked = Requirement(args.arguments[0], args.operator_version, args.app_version)
    lookup = lookup_in(session.namespace, listing.items)
    found = lookup(asked)
    assert isinstance(found, OperatorVersion), "an installed version is no package"
    check_installed(found, lookup)
    return found


def _instance(
    version: OperatorVersion, name: str, namespace: str, values: dict[str, str]
) -> JsonObject:
    operator = version.operator_name
    return {
        "apiVersion": API_VERSION,
        "kind": "Instance",
        "metadata": {
            "name": name or default_instance_name(operator),
            "namespace": namespace,
            "labels": {LABEL_OPERATOR: operator},
        },
        # KUDO 0.19 made up this name of the flags, app and operator version swapped.
        "spec": {"operatorVersion": {"name": version.metadata.name}, "parameters": values},
    }


async def _check_kubernetes(session: Session, version: OperatorVersion) -> None:
    try:
        operator = await session.client.get(
            OPERATORS, version.operator_name, namespace=session.namespace
        )
    except NotFound:  # only the lowest version of Kubernetes is read from it
        return
    required = (operator.get("spec") or {}).get("kubernetesVersion")
    check_kubernetes(required, await session.client.server_version())
