"""The account of an Instance to install: `--service-account` and `--create-service-account`."""

from kubectl_kudo.accounts.giving import Giving
from kubectl_kudo.accounts.objects import Owner
from kubectl_kudo.accounts.rights import Known, RightsInCluster, Versions
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.naming import name_fault
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kudo.api import Instance, OperatorVersion


def account_of_install(args: Args, instance: str) -> str:
    """Return the account that the flags name; empty if they name none.

    Raises:
        UsageError: no account can have the name.
    """
    name = args.service_account or (instance if args.create_service_account else "")
    fault = name_fault("service account", name) if name else ""
    if fault:
        raise UsageError(fault)
    return name


def with_account(args: Args, instance: JsonObject) -> JsonObject:
    """Return an Instance that names the account of the flags; as it is if they name none."""
    name = account_of_install(args, instance["metadata"]["name"])
    if not name:
        return instance
    return {**instance, "spec": {**instance["spec"], "serviceAccountName": name}}


def check_same_account(args: Args, before: JsonObject) -> None:
    """Check that an Instance that exists acts as the account of the flags.

    Raises:
        CliError: it does not.
    """
    name = before["metadata"]["name"]
    asked = account_of_install(args, name)
    present = before["spec"].get("serviceAccountName") or ""
    if asked and asked != present:
        raise CliError(
            f"instance {name} acts as {present or 'no account of its own'}, not as {asked}; change "
            f"that first: kubectl kudo update --instance {name} --service-account {asked}"
        )


async def giving_of(
    session: Session, args: Args, version: OperatorVersion, wire: JsonObject, known: Known
) -> Giving | None:
    """Return what gives the account of an Instance its rights; None without the flag.

    Args:
        session: The connection.
        args: The command line.
        version: The OperatorVersion of the Instance.
        wire: The Instance, which may not exist yet.
        known: OperatorVersions that are not in the cluster yet.

    Raises:
        CliError: the rights let the account get more, and `--allow-escalation` is not given.
    """
    if not args.create_service_account:
        return None
    rights = await RightsInCluster(session.client, Versions(session.client)).of(
        version, Instance.from_wire(wire), known
    )
    metadata, account = wire["metadata"], wire["spec"]["serviceAccountName"]
    owner = Owner(metadata["namespace"], metadata["name"], account)
    return Giving.of(session, owner, rights, escalation=args.allow_escalation)
