"""The connection of one command: client, namespace, and the check that KUDO's CRDs are served."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from kubectl_kudo import __version__
from kubectl_kudo.session.arguments import CLIENT, NONE, Args
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.kinds import ALL, INSTANCES, OPERATOR_VERSIONS
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.output import JsonObject, Report, warn
from kubectl_kudo.session.verbosity import tracer_of
from kubectl_kudo.session.writes import Sent, Writes, check_dry_run, dry_run_mode
from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.connection.config import ClusterConfig, load_config
from kubeio.errors import ConfigError, ConnectionLost, Forbidden, NotFound, Unauthorized
from kudo.api.names import API_VERSION, FINALIZER_CLEANUP, GROUP, VERSION

_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Session:
    """A client, and the namespace that the command works in.

    Attributes:
        client: For reads.
        namespace: The namespace.
        writes: Sends writes, or evaluates them for `--dry-run`.
        report: Prints the results of writes.
    """

    client: Client
    namespace: str
    writes: Writes
    report: Report

    async def instance(self, name: str) -> JsonObject | None:
        """Return an Instance, or None if there is none of that name."""
        try:
            return await self.client.get(INSTANCES, name, namespace=self.namespace)
        except NotFound:
            return None

    async def existing_instance(self, name: str) -> JsonObject:
        """Return an Instance.

        Raises:
            CliError: there is none of that name.
        """
        instance = await self.instance(name)
        if instance is None:
            raise CliError(
                f"instance {name} in namespace {self.namespace} does not exist in the cluster",
                code=ExitCode.NOT_FOUND,
            )
        return instance

    async def version_of(self, instance: JsonObject) -> JsonObject | None:
        """Return the OperatorVersion of an Instance, or None if it does not exist."""
        reference = instance["spec"].get("operatorVersion") or {}
        namespace = reference.get("namespace") or instance["metadata"]["namespace"]
        try:
            return await self.client.get(
                OPERATOR_VERSIONS, reference.get("name") or "", namespace=namespace
            )
        except (NotFound, ValueError):
            # ValueError: no object can have that name, so there is none.
            return None

    async def existing_version_of(self, instance: JsonObject) -> JsonObject:
        """Return the OperatorVersion of an Instance.

        Raises:
            CliError: it does not exist.
        """
        version = await self.version_of(instance)
        if version is None:
            key = f"{self.namespace}/{instance['metadata']['name']}"
            reference = (instance["spec"].get("operatorVersion") or {}).get("name")
            text = f"OperatorVersion {reference} from instance {key} does not exist"
            raise CliError(text, code=ExitCode.NOT_FOUND)
        return version


def in_session(args: Args, work: Callable[[Session], Awaitable[None]]) -> None:
    """Connect as the flags say, do the work, and close the connection."""
    check_dry_run(args)

    async def run() -> None:
        async with connect(args) as session:
            await work(session)

    asyncio.run(run())


@asynccontextmanager
async def connect(args: Args) -> AsyncIterator[Session]:
    """Yield a session; first check that KUDO's kinds are served, unless that is turned off."""
    check_names(args)
    identity = identity_of(args)
    config = load_config(
        args.kubeconfig or None,
        context=args.context or None,
        user_agent=f"kubectl-kudo/{__version__}",
    )
    timeout = float(args.request_timeout) or _TIMEOUT
    client = Client(config, timeout=timeout, tracer=tracer_of(args))
    with _naming_the_cluster(config):
        async with client:
            client.on_warning = _show_warning
            acting = client.acting(identity)
            if args.validate_install:
                await check_served(acting)
            namespace = args.namespace or config.namespace
            yield Session(acting, namespace, _writes_of(acting, args), report_of(args))


def identity_of(args: Args) -> Identity | None:
    """Return the user that `--as` names; None for that of the kubeconfig.

    Raises:
        UsageError: no user can have such a name, or a group stands without one.
    """
    user, groups = getattr(args, "as"), tuple(args.as_group)
    if not user and groups:
        raise UsageError("--as-group needs --as, the user to impersonate")
    try:
        return Identity(user, groups) if user else None
    except ValueError as error:
        raise UsageError(str(error)) from None


@contextmanager
def _naming_the_cluster(config: ClusterConfig) -> Iterator[None]:
    """Add to errors of the connection which cluster it was, and who chose it."""
    try:
        yield
    except ConnectionLost as error:
        # A URL may name a user and a password.
        scheme, _, rest = config.server.partition("://")
        server = f"{scheme}://{rest.rpartition('@')[2]}"
        error.add_note(f"the server is {server}, from {config.origin}")
        raise
    except Unauthorized as error:
        error.add_note(f"the credentials are those of {config.origin}; log in again")
        raise


def namespace_of(args: Args) -> str:
    """Return the namespace that the command works in, without contacting a cluster."""
    if args.namespace:
        return str(args.namespace)
    try:
        return load_config(args.kubeconfig or None, context=args.context or None).namespace
    except ConfigError:
        return "default"


def report_of(args: Args) -> Report:
    """Return the report that the flags of the command ask for."""
    return Report(dry_run_mode(args), getattr(args, "output", ""))


def check_names(args: Args) -> None:
    """Check the names that the command line gives, before they become part of a path.

    Raises:
        UsageError: no object can have such a name.
    """
    given = {"namespace": args.namespace, "instance": getattr(args, "instance", "")}
    for what, name in given.items():
        fault = name_fault(what, name) if name else ""
        if fault:
            raise UsageError(fault)


def _show_warning(warning: str) -> None:
    # Existing Instances have this finalizer, so its name stays; users cannot act on the warning.
    if f'"{FINALIZER_CLEANUP}": prefer a domain-qualified' not in warning:
        warn(warning)


async def check_served(client: Client) -> None:
    """Check that the API server serves KUDO's kinds.

    Reads discovery rather than the CRDs, since every user may. Where that is forbidden, the check
    is skipped, and the request of the command itself shows what is missing.

    Raises:
        CliError: kinds are not served; the text names them.
    """
    try:
        listing = await client.raw("GET", f"/apis/{API_VERSION}")
        served = {entry["name"] for entry in listing.get("resources") or []}
    except NotFound:
        served = set()
    except Forbidden:
        return
    missing = [kind.name for kind in ALL if kind.plural not in served]
    if not missing:
        return
    # CRDs of a later release may serve other versions alone.
    try:
        group = await client.raw("GET", f"/apis/{GROUP}")
    except (NotFound, Forbidden):
        group = {}
    versions = (str(entry["version"]) for entry in group.get("versions") or [])
    others = [version for version in versions if version != VERSION]
    rows = [f"CRD {name} is not installed" for name in missing]
    if others:
        rows = [
            f"Expected API version {VERSION} was not found for {name}, api-server only supports "
            f"{others}. Please update your KUDO CLI."
            for name in missing
        ]
    hint = (
        "Install KUDO first with `kubectl kudo init`, or pass --validate-install=false to try "
        "anyway."
    )
    raise CliError("\n".join(["CRDs invalid: ", *rows, hint]))


def _writes_of(client: Client, args: Args) -> Writes:
    """Return the writes for the value of `--dry-run`."""
    mode = dry_run_mode(args)
    if mode == NONE:
        return Sent(client)
    # The models and the rules of admission take longer to import than all the rest of a command,
    # and most commands are no dry runs.
    from kubectl_kudo.session.dry_run import OnClient, OnServer

    return OnClient(client) if mode == CLIENT else OnServer(client)
