"""Checks before an installation that its plans may do what they need, if tenancy is strict."""

import shlex
import sys
from collections.abc import Iterator

from kubectl_kudo.accounts.actors import Reconciler, installed_reconciler
from kubectl_kudo.accounts.checker import Account, Checker, Finding
from kubectl_kudo.accounts.rights import Known
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.output import JsonObject, warn
from kubectl_kudo.session.session import Session
from kubeio.errors import ApiError
from kudo.admission.tenancy import Tenancy
from kudo.api import Instance

_UNCHECKED = "so the rights that the plans need are not checked"
_OWNER = "update instances/finalizers.kudo.dev"
"""Needed only where the API server has the plugin OwnerReferencesPermissionEnforcement."""
_MOST = 20
"""Rights that an error names."""


async def check_strict(session: Session, args: Args, wire: JsonObject, known: Known) -> None:
    """Check the account of an Instance that is to be installed.

    What cannot be found out is no error: the steps say it.

    Args:
        session: The connection.
        args: The command line of `install`.
        wire: The Instance, which may not exist yet.
        known: OperatorVersions that are not in the cluster yet.

    Raises:
        CliError: the account lacks rights; nothing was created.
    """
    if args.skip_rights_check:
        return
    kudo = await _reconciler(session)
    if kudo is None or kudo.tenancy != Tenancy.STRICT.value:
        return
    instance = Instance.from_wire(wire)
    try:
        finding = await _finding(session, args, kudo, instance, known)
    except (CliError, ApiError) as error:
        warn(f"tenancy is strict, and {error}, {_UNCHECKED}")
        return
    finding.lacks = [one for one in finding.lacks if not one.startswith(_OWNER)]
    if finding.lacks:
        raise CliError("\n  ".join(_lines(args, finding)), code=ExitCode.DENIED)


async def _reconciler(session: Session) -> Reconciler | None:
    try:
        found = await installed_reconciler(session.client)
    except ApiError:
        _hint(f"you may not list Deployments, and with them the mode of tenancy, {_UNCHECKED}")
        return None
    if found is None:
        # It may run outside of the cluster, as on the machine of a developer.
        _hint(f"no Deployment of KUDO's reconciler was found, {_UNCHECKED}")
    return found


def _hint(text: str) -> None:
    """Warn people; scripts of KUDO 0.19 expect nothing here."""
    if sys.stderr.isatty():
        warn(text)


async def _finding(
    session: Session, args: Args, kudo: Reconciler, instance: Instance, known: Known
) -> Finding:
    checker = Checker.of(session, kudo, "")
    if not args.create_service_account:
        return await checker.check(instance, known)
    # It gets its rights with the Instance.
    metadata = instance.metadata
    account = Account(metadata.namespace, await checker.accounts.of(instance))
    finding = Finding(metadata.namespace, metadata.name, account.name)
    if checker.check_form(account, finding):
        await checker.check_impersonation(account, finding)
    return finding


def _lines(args: Args, finding: Finding) -> Iterator[str]:
    name, namespace, account = finding.instance, finding.namespace, finding.account
    yield (
        f"tenancy is strict, and account {namespace}/{account} lacks what the plans of instance "
        f"{name} need:"
    )
    yield from finding.lacks[:_MOST]
    if len(finding.lacks) > _MOST:
        yield f"and {len(finding.lacks) - _MOST} more"
    yield "Nothing was created."
    if len(finding.lacks) > finding.lacks_impersonation:
        asked = shlex.quote(args.arguments[0])
        package, inside = ("PACKAGE", " --in-cluster") if args.in_cluster else (asked, "")
        flags = f"-n {namespace}{inside} --create-service-account"
        yield "Give it an account with these rights, if you have them:"
        yield f"  kubectl kudo install {asked} --instance {name} {flags}"
        flags = f"--instance-name {name} --service-account {account} -n {namespace}"
        yield "or have somebody give them who may:"
        yield f"  kubectl kudo rbac {package} {flags} | kubectl apply -f -"
    if finding.lacks_impersonation:
        yield "Let KUDO act as the accounts of the namespace, as an administrator:"
        yield f"  kubectl kudo rbac --namespace {namespace} | kubectl apply -f -"
    yield "With --skip-rights-check it is installed, and steps wait for the rights."
