"""Checks which rights the accounts of Instances lack, for `rbac --check` and `install`.

What the check of `rbac` prints would fail once KUDO is strict. An installation is checked only
where it is strict.
"""

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence

from pydantic import ValidationError

from kubectl_kudo.accounts.actors import installed_reconciler, reconciler_of
from kubectl_kudo.accounts.checker import Account, Checker, Finding
from kubectl_kudo.accounts.rights import NewVersions
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.blocks import NONE, Column, Table, cell, printable
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, check_format, show, talk, warn
from kubectl_kudo.session.session import Session, in_session
from kubeio.errors import ApiError
from kudo.admission.tenancy import Tenancy
from kudo.api import Instance
from kudo.packages.readable_yaml import dump

_COLUMNS = ("NAMESPACE", Column("INSTANCE", kept=True), "ACCOUNT", Column("LACKS", kept=True))
_PROGRESS = 25
"""Instances after which a line about the progress is printed."""
_UNCHECKED = "so the rights that the plans need are not checked"
_OWNER = "update instances/finalizers.kudo.dev"
"""Needed only where the API server has the plugin OwnerReferencesPermissionEnforcement."""
_MOST = 20
"""Rights that an error names."""


def check(args: Args) -> None:
    """Print what the accounts lack.

    Raises:
        CliError: with exit code 1, if they lack anything.
    """
    check_format(args.output)
    in_session(args, lambda session: _check(session, args))


async def _check(session: Session, args: Args) -> None:
    if args.instance:
        instances = [await session.existing_instance(args.instance)]
    else:
        namespace = None if args.all_namespaces else session.namespace
        instances = (await session.client.list(INSTANCES, namespace=namespace)).items
    reconciler = await reconciler_of(session.client, args.kudo_namespace)
    checker = Checker.of(session, reconciler, args.service_account)
    findings: list[Finding] = []
    for number, wire in enumerate(instances, 1):
        try:
            instance = Instance.from_wire(wire)
        except ValidationError:
            finding = Finding(wire["metadata"]["namespace"], wire["metadata"]["name"], "")
            finding.lack("a form that KUDO can read")
        else:
            finding = await checker.check(instance, {})
        findings.append(finding)
        # Each right is a request: a large cluster takes minutes.
        if number % _PROGRESS == 0 and number < len(instances):
            talk(f"{number} of {len(instances)} instances are checked")
    if args.output == "json":
        data = [finding.to_data() for finding in findings]
        print(json.dumps(data, indent=2, ensure_ascii=False))
    elif args.output:
        print(dump([finding.to_data() for finding in findings]), end="")
    else:
        show(Table(_COLUMNS, [*_rows(findings)]))
    for finding in findings:
        for note in finding.notes:
            talk(f"Note on instance {finding.namespace}/{finding.instance}: {printable(note, 500)}")
    lacking = sum(1 for finding in findings if finding.lacks)
    if lacking:
        text = f"{lacking} of {len(findings)} instances lack something"
        raise CliError(
            f"{text}; print the rights of one with: kubectl kudo rbac --instance NAME",
            code=ExitCode.TEST_FAILED,
        )


def _rows(findings: Iterable[Finding]) -> Iterator[Sequence[str]]:
    for finding in findings:
        owner = cell(finding.namespace), cell(finding.instance), cell(finding.account)
        for lack in finding.lacks or (NONE,):
            yield *owner, lack


async def check_strict(
    session: Session, args: Args, wire: JsonObject, new_versions: NewVersions
) -> None:
    """Check the account of an Instance that is to be installed.

    What cannot be found out is no error: the steps say it.

    Args:
        session: The connection.
        args: The command line of `install`.
        wire: The Instance, which may not exist yet.
        new_versions: OperatorVersions that are not in the cluster yet.

    Raises:
        CliError: the account lacks rights; nothing was created.
    """
    if args.skip_rights_check:
        return
    try:
        reconciler = await installed_reconciler(session.client)
    except ApiError:
        unknown = "you may not list Deployments, and with them the mode of tenancy"
        reconciler = None
    else:
        # It may run outside of the cluster, as on the machine of a developer.
        unknown = "no Deployment of KUDO's reconciler was found"
    if reconciler is None and sys.stderr.isatty():
        # For people alone: scripts of KUDO 0.19 expect nothing here.
        warn(f"{unknown}, {_UNCHECKED}")
    if reconciler is None or reconciler.tenancy != Tenancy.STRICT.value:
        return
    instance = Instance.from_wire(wire)
    checker = Checker.of(session, reconciler, "")
    try:
        if args.create_service_account:
            # The account gets its rights with the Instance: what it lacks now is no fault.
            metadata = instance.metadata
            account = Account(metadata.namespace, await checker.accounts.of(instance))
            finding = Finding(metadata.namespace, metadata.name, account.name)
            if checker.check_form(account, finding):
                await checker.check_impersonation(account, finding)
        else:
            finding = await checker.check(instance, new_versions)
    except (CliError, ApiError) as error:
        warn(f"tenancy is strict, and {error}, {_UNCHECKED}")
        return
    finding.lacks = [text for text in finding.lacks if not text.startswith(_OWNER)]
    if finding.lacks:
        raise CliError("\n  ".join(_lines(args, finding)), code=ExitCode.DENIED)


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
